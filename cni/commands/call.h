#pragma once

#include <functional>

#include "base/deadline.h"
#include "cni/attachments/attachment_record.h"
#include "cni/commands/stage_observer.h"
#include "cni/config.h"
#include "cni/node_context.h"
#include "cni/pod/pod_event_source.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// One request, and all that serving it needs. Borrows what it refers to.
struct Call {
  const Request& request;
  const NodeContext& node;
  const Config& config;
  PodEventSource& events;
  StageObserver& stages;
  Deadline deadline;
  /// Returns when an ADD may plug what its record has; throws CniError. May be empty.
  std::function<void(const AttachmentRecord& record)> on_planned;
  /// Is told of what an ADD has attached; may be empty.
  std::function<void(const AttachmentRecord& record)> on_added;
};

}  // namespace kuryr::cni
