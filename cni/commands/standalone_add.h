#pragma once

#include "base/deadline.h"
#include "cni/pod/pod_plugs.h"
#include "cni/protocol/request.h"
#include "cni/protocol/result.h"

namespace kuryr::cni {

/// The ADD of a network that this node makes by itself, as kubenet did. The pod gets its interface,
/// on a bridge or with a port of Open vSwitch. Then the delegated IPAM plugin, which may talk
/// through it, gives the addresses, and the bridge becomes the pods' gateway. The caller undoes
/// plugs and addresses: the record names both before they are made. The bridge stays, since other
/// pods may be on it.
[[nodiscard]] Result AddStandalone(const Request& request, PodPlugs& plugs,
                                   const Deadline& deadline);

}  // namespace kuryr::cni
