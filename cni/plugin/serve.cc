#include "cni/plugin/serve.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>
#include <variant>

#include "base/log.h"
#include "cni/config.h"
#include "cni/del.h"
#include "cni/local/local_vif.h"
#include "cni/plugin/agent_client.h"
#include "cni/plugin/api_server_events.h"
#include "cni/plugin/detached_writer.h"
#include "cni/protocol/trace_id.h"
#include "cni/serve.h"
#include "watcher/credentials.h"

namespace kuryr::cni {
namespace {

bool NeedsApiServer(const Request& request) {
  const bool asks_it = request.command == Command::kAdd || request.command == Command::kStatus;
  return asks_it && !request.config.local;
}

Config Load(const std::vector<std::string>& files, ConfigScope scope) {
  return LoadConfig(files, [](const char* name) { return std::getenv(name); }, scope);
}

/// What the network configuration says to the drivers.
void TakeLocal(const Request& request, binding::BindingConfig& binding) {
  const LocalNetwork& local = *request.config.local;
  binding.owns_ports = true;
  binding::NamedElsewhere& named = binding.named;
  named.host_interfaces.push_back(
      LocalHostInterface({request.config.name, request.container_id, request.ifname}));
  if (local.kind == LocalNetwork::Kind::kOvs) {
    binding.port_vlan = local.vlan;
    named.drivers.emplace_back("ovs");
    named.ovs_bridges.push_back(local.bridge);
  } else {
    if (local.hairpin_mode) binding.hairpin = binding::HairpinMode::kHairpinVeth;
    named.drivers.emplace_back("bridge");
    named.kernel_bridges.push_back(local.bridge);
    named.uplinks.push_back(local.uplink);
  }
}

void SetUpLog(const Request& request, const Config& config) {
  if (request.config.debug || config.debug) SetLogLevel(LogLevel::kDebug);
  if (config.log_file.empty()) return;
  try {
    SetLogFile(config.log_file);
  } catch (const std::exception& e) {
    // Nothing that a DEL needs is missing.
    Log(LogLevel::kWarning, "the log goes to stderr", {{"error", e.what()}});
  }
}

/// The runtime's own, so that its traces and our lines are found together; where it has none, a new
/// one.
std::string TraceId() {
  const char* traceparent = std::getenv("TRACEPARENT");
  auto id = TraceIdOf(traceparent == nullptr ? "" : traceparent);
  return id ? *std::move(id) : NewTraceId();
}

void LogBegin(const Request& request) {
  Log(LogLevel::kDebug, "call begins",
      {{"command", ToString(request.command)},
       {"container", request.container_id},
       {"ifname", request.ifname}});
}

/// What this process serves by when it works alone.
struct Alone {
  const Config& config;
  AttachmentStore& attachments;
  ApiWriter& writer;
  int cancel_fd;
};

AgentReply ServeAlone(const Request& request, const Alone& alone) {
  const Config& config = alone.config;
  binding::Binding binding(ForDrivers(config, alone.attachments));
  const Node node = {.binding = binding,
                     .attachments = alone.attachments,
                     .owner = ProcessId::Own(),
                     .writer = alone.writer};
  ApiServerEvents events(config.api, config.vif_source);
  StageObserver nobody;
  return {.status = 0,
          .out = Serve(
              {.request = request,
               .node = node,
               .config = config,
               .events = events,
               .stages = nobody,
               .deadline = Deadline::After(LongestFor(request.command, config), alone.cancel_fd)})};
}

/// A DEL while the agent is down. What it cannot remove is the agent's to remove when it is back:
/// the runtime may not ask again.
AgentReply DelWithoutAgent(const Request& request, const Alone& alone,
                           const std::string& trace_id) {
  try {
    return ServeAlone(request, alone);
  } catch (const std::exception& e) {
    const AttachmentKey key = {request.config.name, request.container_id, request.ifname};
    if (!LeaveToAgent(key, alone.attachments)) throw;
    // One that has come meanwhile may have swept before there was anything to sweep.
    auto asked = AskAgent(request, alone.config, trace_id, alone.cancel_fd);
    if (auto* reply = std::get_if<AgentReply>(&asked)) return std::move(*reply);
    if (std::get<NoAgent>(asked).state != NoAgent::State::kDown) throw;
    Log(LogLevel::kWarning, "not all could be removed: left to kuryr-daemon",
        {{"socket", alone.config.agent_socket}, {"error", e.what()}});
    return {};
  }
}

}  // namespace

AgentReply Serve(const Request& request, std::vector<std::string> config_files, int cancel_fd) {
  if (!request.config.kuryr_conf.empty()) config_files.push_back(request.config.kuryr_conf);
  Config config = Load(config_files, ConfigScope::kWithoutKubernetes);
  SetUpLog(request, config);
  const std::string trace_id = TraceId();
  const LogScope scope({kTraceIdField, trace_id});
  LogBegin(request);
  auto asked = AskAgent(request, config, trace_id, cancel_fd);
  if (auto* reply = std::get_if<AgentReply>(&asked)) return std::move(*reply);
  const auto& without = std::get<NoAgent>(asked);
  if (without.state != NoAgent::State::kNone) {
    Log(LogLevel::kWarning, "kuryr-daemon does not answer: served without it",
        {{"socket", config.agent_socket}, {"error", without.why}});
  }

  // The agent has an identity of its own: where it serves, none is needed here.
  if (NeedsApiServer(request)) config = Load(config_files, ConfigScope::kAll);
  watcher::WarnOfInsecureApi(config.api, config.unverified_by);
  if (request.config.local) TakeLocal(request, config.binding);
  config.api.connect_timeout =
      std::min(config.api.connect_timeout, LongestFor(request.command, config));
  AttachmentStore attachments(config.state_dir);
  DetachedWriter writer(std::move(config_files), trace_id);
  const Alone alone = {
      .config = config, .attachments = attachments, .writer = writer, .cancel_fd = cancel_fd};
  if (request.command == Command::kDel && without.state == NoAgent::State::kDown)
    return DelWithoutAgent(request, alone, trace_id);
  return ServeAlone(request, alone);
}

}  // namespace kuryr::cni
