#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"
#include "base/names.h"
#include "base/ovsdb_remotes.h"
#include "base/rollback.h"
#include "binding/drivers/binding.h"
#include "binding/node/node_part.h"
#include "binding/node/pod_filter.h"
#include "cni/agent/agent.h"
#include "cni/agent/agent_server.h"
#include "cni/agent/capabilities.h"
#include "cni/agent/status_command.h"
#include "cni/agent/system_calls.h"
#include "cni/agent_absence.h"
#include "cni/config.h"
#include "cni/protocol/agent_socket.h"
#include "service/common_options.h"
#include "service/daemon_line.h"
#include "service/health_client.h"
#include "service/health_port.h"
#include "service/notify.h"
#include "service/report.h"
#include "service/stop_signals.h"
#include "watcher/credentials.h"

namespace {

using namespace kuryr::cni;
namespace service = kuryr::service;

constexpr const char* kAbout =
    "kuryr-daemon is the node's agent of kuryr-cni: one watch for all pods of the node, behind a\n"
    "unix socket that kuryr-cni hands its calls to.\n";

Config ReadConfig(const service::CommonOptions& options) {
  const kuryr::ConfigFiles files(options.config_files);
  Config config = LoadConfig(files, [](const char* name) { return std::getenv(name); });
  if (!kuryr::IsDnsName(config.node_name))
    throw std::runtime_error("\"" + kuryr::Printable(config.node_name) +
                             "\" is no node's name; set [kubernetes] node_name");
  // The sweep of ports removes those that a reboot leaves.
  if (!config.transient_ports) config.binding.transient_ports = config.orphan_grace.count() == 0;
  service::SetUpLog(options, config.program);
  service::WarnOfUnknownOptions(files, options.strict);
  if (!config.ignored_address.empty())
    kuryr::Log(kuryr::LogLevel::kWarning,
               "HOST:PORT is kuryr-kubernetes' address and is ignored: set unix:/PATH, or nothing",
               {{"option", config.ignored_address}, {"socket", config.agent_socket}});
  kuryr::watcher::WarnOfInsecureApi(config.api, config.unverified_by);
  for (const std::string& remote : kuryr::FindUnprotected(config.chassis.sb_connection))
    kuryr::Log(kuryr::LogLevel::kWarning,
               "whoever reaches this server of OVN may rule the network, as pods can: use ssl:",
               {{"remote", remote}});
  return config;
}

constexpr size_t kMostQueries = 16;

/// Until the agent is to stop. The loop of the calls is the one that the watchdog is for.
void ServeQueries(AgentServer& server, int stop_fd) {
  try {
    server.Run(stop_fd, service::Watchdog());
  } catch (const std::exception& e) {
    kuryr::Log(kuryr::LogLevel::kError, "nobody can ask for status and health",
               {{"error", e.what()}});
  }
}

/// `kuryr-daemon remove-node-network`: needs no API server.
void RemoveNodeNetwork(const service::CommonOptions& options) {
  const Config config = LoadConfig(
      options.config_files, [](const char* name) { return std::getenv(name); },
      ConfigScope::kWithoutKubernetes);
  const kuryr::binding::Binding binding(config.binding);
  const bool had_policies = kuryr::binding::RemovePodFilter();
  const bool was_there = kuryr::binding::RemoveNodeParts(
                             binding.context(), kuryr::Deadline::After(std::chrono::seconds(30))) ||
                         had_policies;
  std::printf("%s\n", was_there ? "removed" : "there was nothing to remove");
}

void Stop() { (void)::kill(::getpid(), SIGTERM); }

/// glibc has eight for each processor otherwise, and each keeps what a burst of calls needed.
constexpr int kMallocArenas = 2;

void Run(const Config& config) {
  ::mallopt(M_ARENA_MAX, kMallocArenas);
  KeepNeededCapabilities();
  GiveUpSystemCalls();
  const kuryr::UniqueFd signals = service::StopSignalsAsFd();
  // Calls queue up here until the leftovers are away.
  kuryr::UniqueFd listener = InheritedListener();
  if (!listener) listener = ListenAt(config.agent_socket);
  Agent agent(config, signals.get());
  // A probe without an answer takes the agent for dead.
  kuryr::UniqueFd query_listener = ListenAt(StatusSocketOf(config.agent_socket));
  const service::Health health(config.program,
                               {.why_not_alive = [&agent] { return agent.WhyNotAlive(); },
                                .why_not_ready = [&agent] { return agent.WhyNotReady(); },
                                .metrics = [&agent] { return agent.Metrics(); }});
  AgentServer queries(std::move(query_listener), kMostQueries,
                      [&](const AgentCall& call, const kuryr::EventFd& /*cancel*/) {
                        return agent.AnswerQuery(call, health.problem());
                      });
  AgentServer server(std::move(listener), config.max_calls,
                     [&](const AgentCall& call, const kuryr::EventFd& cancel) {
                       return agent.Answer(call, cancel);
                     });
  const std::jthread query_thread([&] { ServeQueries(queries, signals.get()); });
  kuryr::Rollback stop_queries(Stop);
  AgentAbsence(config.agent_socket).End();
  kuryr::Log(kuryr::LogLevel::kInfo, "ready",
             {{"socket", config.agent_socket}, {"node", config.node_name}});
  service::Notify("READY=1");
  server.Run(signals.get(), service::Watchdog::OfProcess());
  stop_queries.Dismiss();
  service::Notify("STOPPING=1");
}

}  // namespace

int main(int argc, char** argv) {
  service::DaemonLine line({.name = "kuryr-daemon",
                            .program = kAbout,
                            .status = "Show what the running agent knows of its pods",
                            .pod = "this one's way from its interface to the bridge",
                            .ready = "pods can be plugged now"});
  const service::CommandLine removal = line.AddCommand(
      "remove-node-network", "Undo what [node_network] made on this node, where no agent runs");
  service::CommandLine policy =
      line.AddCommand("policy", "Show what this node enforces of the policies of one of its pods");
  service::StatusOptions asked;
  policy.Add("POD", asked.pod, "NAMESPACE/NAME").Require().AllowPod();
  policy.AddOutput(asked.as_json);
  if (const auto end = line.Parse(argc, argv)) return end->Print();
  try {
    const service::CommonOptions& options = line.options();
    const auto socket = [&] { return StatusSocketOf(LoadAgentSocket(options.config_files)); };
    if (const auto* wanted = line.status()) return PrintStatus(socket(), *wanted);
    if (const auto* question = line.health()) return PrintHealth(socket(), *question);
    if (policy.IsGiven()) return PrintPolicies(socket(), asked);
    if (line.is_report())
      return service::PrintReport("kuryr-daemon", options.config_files, AgentParts(socket));
    if (removal.IsGiven()) {
      RemoveNodeNetwork(options);
      return 0;
    }
    Run(ReadConfig(options));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "kuryr-daemon: %s\n", e.what());
    return line.HasCommand() ? service::kCommandFailed : 1;
  }
}
