#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/event_fd.h"
#include "binding/drivers/binding.h"
#include "cni/agent/call_log.h"
#include "cni/agent/call_metrics.h"
#include "cni/agent/cancellations.h"
#include "cni/agent/last_errors.h"
#include "cni/agent/node/node_certificate.h"
#include "cni/agent/node/node_network.h"
#include "cni/agent/policy/node_policies.h"
#include "cni/agent/queued_writer.h"
#include "cni/agent/registry/pod_registry.h"
#include "cni/agent/registry/port_reader.h"
#include "cni/agent/upkeep/flow_sweep.h"
#include "cni/agent/upkeep/hot_plug.h"
#include "cni/agent/upkeep/port_sweep.h"
#include "cni/agent/upkeep/repair.h"
#include "cni/agent/upkeep/repair_events.h"
#include "cni/agent/upkeep/sweep.h"
#include "cni/agent/upkeep/switch_wait.h"
#include "cni/agent/upkeep/upkeep.h"
#include "cni/attachments/attachment_store.h"
#include "cni/config.h"
#include "cni/node_context.h"
#include "cni/protocol/agent_call.h"
#include "cni/protocol/request.h"
#include "watcher/watcher.h"

namespace kuryr::cni {

/// The node's agent: one watch for all of the node's pods, a reader of their KuryrPorts, and the
/// answers to the plugin's calls. The commands are those of a plugin that works alone. The registry
/// gives them their pods' events. Thread-safe. (kuryr_kubernetes/cni/daemon/service.py)
class Agent {
 public:
  /// Makes the state directory, and undoes what earlier processes left, until `stop_fd` is
  /// readable. The upkeep goes on with the rest. `config.node_name` is set.
  Agent(const Config& config, int stop_fd);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent();

  /// Serves a call of the plugin; `cancel` ends it. AnswerQuery is for questions.
  [[nodiscard]] AgentReply Answer(const AgentCall& call, const EventFd& cancel);

  /// Answers "alive" and "ready" by "ok", or by status 1 and the reason, and "status" by
  /// StatusJson. `http_problem` says why the agent does not answer by HTTP, where it does not.
  [[nodiscard]] AgentReply AnswerQuery(const AgentCall& call,
                                       const std::optional<std::string>& http_problem) const;

  /// Why only a restart would help; nullopt when all is well.
  [[nodiscard]] std::optional<std::string> WhyNotAlive() const;
  /// Why an ADD would fail now: a right, the API server, Open vSwitch.
  [[nodiscard]] std::optional<std::string> WhyNotReady() const;
  /// The node's pods as JSON. With `wanted` (NAMESPACE/NAME) that pod alone, and what differs from
  /// its plan.
  [[nodiscard]] std::string StatusJson(const std::string& wanted,
                                       const std::optional<std::string>& http_problem = {}) const;
  /// All metrics in Prometheus' text format.
  [[nodiscard]] std::string Metrics() const;

 private:
  [[nodiscard]] std::string Serve(const Request& request, StageObserver& stages,
                                  const EventFd& cancel);
  /// Throws CniError 50 while the API server does not answer.
  void RequireReady() const;
  [[nodiscard]] std::vector<UpkeepJob*> Jobs();
  /// Whether the watch has listed the node's pods.
  [[nodiscard]] bool HasListed() const;
  /// Whether the watch also works now, and knows a pod. Without one the node's name may be wrong.
  [[nodiscard]] bool KnowsPods() const;
  /// Describes the trouble with the API server: "has not answered for a while".
  [[nodiscard]] std::optional<std::string> WhyNotWatching() const;

  const Config config_;
  AttachmentStore attachments_;
  binding::Binding binding_;
  QueuedWriter writer_;
  const NodeContext node_;
  Sweep sweep_;
  CallMetrics calls_;
  CallLog log_;
  LastErrors errors_;
  Cancellations cancellations_;
  PodRegistry registry_;
  watcher::EventPipeline pipeline_;
  watcher::Watcher pod_watcher_;
  PortReader port_reader_;
  PortSweep port_sweep_;
  FlowSweep flow_sweep_;
  SwitchWait switch_wait_;
  Repair repair_;
  NodeNetwork node_network_;
  NodeCertificate certificate_;
  NodePolicies policies_;
  HotPlug hot_plug_;
  Upkeep upkeep_;
  std::optional<RepairEvents> repair_events_;  // last: its threads use all of the above
};

}  // namespace kuryr::cni
