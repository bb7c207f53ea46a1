#pragma once

#include <string>

#include "base/event_fd.h"
#include "binding/binding.h"
#include "cni/agent/cancellations.h"
#include "cni/agent/pod_registry.h"
#include "cni/agent/queued_writer.h"
#include "cni/attachment_store.h"
#include "cni/config.h"
#include "cni/node.h"
#include "cni/protocol/agent_call.h"
#include "cni/protocol/request.h"
#include "watcher/watcher.h"

namespace kuryr::cni {

/// The node's agent: one watch for all of its pods, and what answers the plugin's calls. The
/// commands are those of a plugin that works alone; their pods' events come from the registry.
/// Thread-safe. (kuryr_kubernetes/cni/daemon/service.py)
class Agent {
 public:
  /// Makes the state directory, and undoes what earlier processes left. `config.node_name` is set.
  explicit Agent(const Config& config);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent();

  /// `cancel` ends the call.
  [[nodiscard]] AgentReply Answer(const AgentCall& call, const EventFd& cancel);

 private:
  [[nodiscard]] std::string Serve(const Request& request, const EventFd& cancel);
  /// CniError 50.
  void RequireReady() const;

  const Config config_;
  binding::Binding binding_;
  AttachmentStore attachments_;
  QueuedWriter writer_;
  const Node node_;
  Cancellations cancellations_;
  PodRegistry registry_;
  watcher::EventPipeline pipeline_;
  watcher::Watcher watcher_;
};

}  // namespace kuryr::cni
