#pragma once

#include "base/deadline.h"
#include "cni/node.h"
#include "cni/protocol/request.h"
#include "cni/stage_observer.h"

namespace kuryr::cni {

/// Serves a DEL from what this node knows: the attachment's record, or where that was lost, the
/// marks on its ports. Needs no API server, no annotation and no namespace, and succeeds when there
/// is nothing (any more). An ADD still at work on the attachment is ended first. Throws when
/// something that exists could not be removed: its record stays, and the runtime's next DEL tries
/// again.
void Del(const Request& request, const Node& node, StageObserver& stages, const Deadline& deadline);

}  // namespace kuryr::cni
