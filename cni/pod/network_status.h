#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cni/pod/pod_result.h"

namespace kuryr::cni {

/// The annotation for a pod's networks, as the Network Plumbing Working Group defines it
/// (Kubernetes Network Custom Resource Definition De-facto Standard, section 5).
inline constexpr const char* kNetworkStatusAnnotation = "k8s.v1.cni.cncf.io/network-status";

/// The annotation's value, an entry for each VIF. The default VIF's entry is named `network`, the
/// CNI network. The other entries are named after the VIF's Neutron network.
[[nodiscard]] nlohmann::ordered_json NetworkStatusOf(const std::string& network,
                                                     const std::vector<PluggedVif>& vifs);

}  // namespace kuryr::cni
