#include "cni/plugin/serve.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <utility>
#include <variant>

#include "base/log.h"
#include "cni/commands/command_table.h"
#include "cni/commands/del.h"
#include "cni/config.h"
#include "cni/network_binding.h"
#include "cni/plugin/agent_client.h"
#include "cni/plugin/api_server_events.h"
#include "cni/plugin/detached_writer.h"
#include "cni/protocol/trace_id.h"
#include "watcher/credentials.h"

namespace kuryr::cni {
namespace {

bool NeedsApiServer(const Request& request) {
  const bool asks_it = request.command == Command::kAdd || request.command == Command::kStatus;
  return asks_it && !request.config.standalone;
}

Config Load(const ConfigFiles& files, ConfigScope scope) {
  return LoadConfig(files, [](const char* name) { return std::getenv(name); }, scope);
}

void SetUpLog(const Request& request, const Config& config) {
  if (request.config.debug || config.program.debug) SetLogLevel(LogLevel::kDebug);
  if (config.program.log_file.empty()) return;
  try {
    SetLogFile(config.program.log_file);
  } catch (const std::exception& e) {
    // A DEL does not need the log file.
    Log(LogLevel::kWarning, "the log goes to stderr", {{"error", e.what()}});
  }
}

/// The runtime's trace ID, so that its traces match our log lines. Without one, a new ID.
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

/// `config`, and options that only a process without an agent needs: the agent has an identity of
/// its own.
Config ConfigAlone(Request& request, const ConfigFiles& files, Config config, int cancel_fd) {
  if (NeedsApiServer(request)) config = Load(files, ConfigScope::kAll);
  watcher::WarnOfInsecureApi(config.api, config.unverified_by);
  ApplyNetwork(request, config, Deadline::After(LongestFor(request.command, config), cancel_fd));
  config.api.connect_timeout =
      std::min(config.api.connect_timeout, LongestFor(request.command, config));
  return config;
}

/// All that a call needs in a process that works without an agent. `writer` is borrowed.
class Alone {
 public:
  Alone(Config config, ApiWriter& writer)
      : config_(std::move(config)),
        attachments_(config_.state_dir),
        binding_(ForDrivers(config_, attachments_)),
        node_{.binding = binding_,
              .attachments = attachments_,
              .owner = ProcessId::Own(),
              .writer = writer},
        events_(config_.api, config_.vif_source) {}

  [[nodiscard]] Call CallFor(const Request& request, int cancel_fd) {
    return {.request = request,
            .node = node_,
            .config = config_,
            .events = events_,
            .stages = nobody_,
            .deadline = Deadline::After(LongestFor(request.command, config_), cancel_fd),
            .on_added = {}};
  }

 private:
  const Config config_;
  AttachmentStore attachments_;
  binding::Binding binding_;
  const NodeContext node_;
  ApiServerEvents events_;
  StageObserver nobody_;
};

/// False also where the record cannot be written: the DEL's own error says more.
bool TryLeaveToAgent(const AttachmentKey& key, AttachmentStore& attachments) {
  try {
    return LeaveToAgent(key, attachments);
  } catch (const std::system_error& e) {
    Log(LogLevel::kWarning, "nothing is left to kuryr-daemon", {{"error", e.what()}});
    return false;
  }
}

/// Serves a DEL while the agent is down. The agent removes what is left when it is back: the
/// runtime may not ask again.
AgentReply DelWithoutAgent(const Call& call, const std::string& trace_id) {
  try {
    return {.status = 0, .out = Del(call)};
  } catch (const std::exception& e) {
    const Request& request = call.request;
    const AttachmentKey key = {request.config.name, request.container_id, request.ifname};
    if (!TryLeaveToAgent(key, call.node.attachments)) throw;
    // An agent that has started meanwhile may have swept before the record was unwanted.
    auto asked = AskAgent(request, call.config, trace_id, call.deadline.cancel_fd);
    if (auto* reply = std::get_if<AgentReply>(&asked)) return std::move(*reply);
    if (std::get<NoAgent>(asked).state != NoAgent::State::kDown) throw;
    Log(LogLevel::kWarning, "not all could be removed: left to kuryr-daemon",
        {{"socket", call.config.agent_socket}, {"error", e.what()}});
    return {};
  }
}

}  // namespace

AgentReply Serve(Request request, std::vector<std::string> config_files, int cancel_fd) {
  if (!request.config.kuryr_conf.empty()) config_files.push_back(request.config.kuryr_conf);
  const ConfigFiles files = ReadConfigFiles(config_files);
  Config config = Load(files, ConfigScope::kWithoutKubernetes);
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

  DetachedWriter writer(config_files, trace_id);
  Alone alone(ConfigAlone(request, files, std::move(config), cancel_fd), writer);
  const Call call = alone.CallFor(request, cancel_fd);
  if (request.command == Command::kDel && without.state == NoAgent::State::kDown)
    return DelWithoutAgent(call, trace_id);
  return {.status = 0, .out = FindCommand(request.command)(call)};
}

}  // namespace kuryr::cni
