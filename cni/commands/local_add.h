#pragma once

#include "base/deadline.h"
#include "cni/pod/pod_plugs.h"
#include "cni/protocol/request.h"
#include "cni/protocol/result.h"

namespace kuryr::cni {

/// The ADD of a network that this node makes by itself, as kubenet did. Addresses come from the
/// delegated IPAM plugin. The pod gets its interface, and a bridge that is the pods' gateway, or a
/// port of Open vSwitch. What was plugged is the caller's to undo, and so are the addresses: the
/// record tells of both before they are there. The bridge stays, as others may be on it.
[[nodiscard]] Result AddLocal(const Request& request, PodPlugs& plugs, const Deadline& deadline);

}  // namespace kuryr::cni
