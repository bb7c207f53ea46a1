#pragma once

namespace kuryr::binding {

/// How a pod reaches itself through a service's address, where the service is made on the bridge
/// (br_netfilter). The frame has to leave by the port it came from, which a bridge refuses.
enum class HairpinMode {
  kNone,
  kPromiscuousBridge,  ///< the node takes frames up, and routes them back; older kernels only
  kHairpinVeth,        ///< the pod's port lets them out again
};

}  // namespace kuryr::binding
