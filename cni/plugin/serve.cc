#include "cni/plugin/serve.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/log.h"
#include "cni/config.h"
#include "cni/disconnect.h"
#include "cni/plugin/agent_client.h"
#include "cni/plugin/api_server_events.h"
#include "cni/plugin/detached_writer.h"
#include "cni/protocol/trace_id.h"
#include "cni/serve.h"

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
void TakeLocal(const LocalNetwork& local, binding::BindingConfig& binding) {
  binding.owns_ports = true;
  if (local.kind == LocalNetwork::Kind::kOvs) binding.port_vlan = local.vlan;
  if (local.kind == LocalNetwork::Kind::kBridge && local.hairpin_mode)
    binding.hairpin = binding::HairpinMode::kHairpinVeth;
}

void SetUpLog(const Request& request, const Config& config) {
  if (request.config.debug || config.debug) SetLogLevel(LogLevel::kDebug);
  if (!config.log_file.empty()) SetLogFile(config.log_file);
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

void WarnOfUnverified(const Config& config) {
  if (!config.api.verify_server) {
    Log(LogLevel::kWarning, "the API server's certificate is not verified",
        {{"switched_off_by", config.unverified_by}});
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
  const std::chrono::seconds time = LongestFor(request.command, config);
  // The agent has the same deadline, and words of its own when it is over.
  const auto agents_deadline = Deadline::After(time + kUndoTime, cancel_fd);
  if (auto reply = AskAgent(request, config, trace_id, agents_deadline)) return *std::move(reply);

  // The agent has an identity of its own: where it serves, none is needed here.
  if (NeedsApiServer(request)) config = Load(config_files, ConfigScope::kAll);
  WarnOfUnverified(config);
  if (request.config.local) TakeLocal(*request.config.local, config.binding);
  config.api.connect_timeout = std::min(config.api.connect_timeout, time);
  binding::Binding binding(config.binding);
  AttachmentStore attachments(config.state_dir);
  DetachedWriter writer(std::move(config_files), trace_id);
  const Node node = {
      .binding = binding, .attachments = attachments, .owner = ProcessId::Own(), .writer = writer};
  ApiServerEvents events(config.api);
  StageObserver nobody;
  return {.status = 0,
          .out = Serve(request, node, config, events, nobody, Deadline::After(time, cancel_fd))};
}

}  // namespace kuryr::cni
