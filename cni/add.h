#pragma once

#include "base/deadline.h"
#include "cni/node.h"
#include "cni/pod_event_source.h"
#include "cni/protocol/request.h"
#include "cni/protocol/result.h"

namespace kuryr::cni {

/// Serves an ADD: locks the attachment, clears what a killed ADD left, waits for the pod's VIFs and
/// plugs them. All or nothing: whatever it throws, no link, port or record of it is left, or where
/// one could not be removed, the record that lets the runtime's DEL do so.
[[nodiscard]] Result Add(const Request& request, const Node& node, PodEventSource& events,
                         const Deadline& deadline);

}  // namespace kuryr::cni
