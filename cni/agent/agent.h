#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/event_fd.h"
#include "binding/drivers/binding.h"
#include "cni/agent/call_metrics.h"
#include "cni/agent/cancellations.h"
#include "cni/agent/last_errors.h"
#include "cni/agent/pod_registry.h"
#include "cni/agent/port_reader.h"
#include "cni/agent/port_sweep.h"
#include "cni/agent/queued_writer.h"
#include "cni/agent/sweep.h"
#include "cni/agent/upkeep.h"
#include "cni/attachments/attachment_store.h"
#include "cni/config.h"
#include "cni/node.h"
#include "cni/protocol/agent_call.h"
#include "cni/protocol/request.h"
#include "watcher/watcher.h"

namespace kuryr::cni {

/// The node's agent: one watch for all of its pods, who asks for their KuryrPorts, and what answers
/// the plugin's calls. The commands are those of a plugin that works alone; their pods' events come
/// from the registry. Thread-safe. (kuryr_kubernetes/cni/daemon/service.py)
class Agent {
 public:
  /// Makes the state directory, and undoes what earlier processes left, as far as that can be done
  /// now and before `stop_fd` is readable. `config.node_name` is set.
  Agent(const Config& config, int stop_fd);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent();

  /// `cancel` ends the call. Questions are answered elsewhere.
  [[nodiscard]] AgentReply Answer(const AgentCall& call, const EventFd& cancel);

  /// "alive" and "ready": "ok", or status 1 and why not; "status": StatusJson. Each says also why
  /// nobody can ask for it by HTTP, if so.
  [[nodiscard]] AgentReply AnswerQuery(const AgentCall& call,
                                       const std::optional<std::string>& http_problem) const;

  /// Why only a restart would help; nullopt when all is well.
  [[nodiscard]] std::optional<std::string> WhyNotAlive() const;
  /// Why an ADD would fail now: a right, the API server, Open vSwitch.
  [[nodiscard]] std::optional<std::string> WhyNotReady() const;
  /// What is known of the node's pods, as JSON; of `wanted` (NAMESPACE/NAME), if that is not empty,
  /// alone, and whether what was made for it is still so.
  [[nodiscard]] std::string StatusJson(const std::string& wanted,
                                       const std::optional<std::string>& http_problem = {}) const;
  /// For Prometheus.
  [[nodiscard]] std::string Metrics() const;

 private:
  [[nodiscard]] std::string Serve(const Request& request, StageObserver& stages,
                                  const EventFd& cancel);
  /// CniError 50.
  void RequireReady() const;
  [[nodiscard]] std::vector<UpkeepJob*> Jobs();
  /// The pods.
  [[nodiscard]] bool HasListed() const;
  /// And hears of them. A node without any may be another one's name.
  [[nodiscard]] bool KnowsPods() const;
  /// "has not answered for a while": what is to be said of the API server.
  [[nodiscard]] std::optional<std::string> WhyNotWatching() const;

  const Config config_;
  AttachmentStore attachments_;
  binding::Binding binding_;
  QueuedWriter writer_;
  const Node node_;
  Sweep sweep_;
  CallMetrics calls_;
  LastErrors errors_;
  Cancellations cancellations_;
  PodRegistry registry_;
  watcher::EventPipeline pipeline_;
  watcher::Watcher pod_watcher_;
  PortReader port_reader_;
  PortSweep port_sweep_;
  Upkeep upkeep_;  // last: its thread uses all of the above
};

}  // namespace kuryr::cni
