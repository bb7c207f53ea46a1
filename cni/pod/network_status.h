#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cni/pod/pod_result.h"

namespace kuryr::cni {

/// The pod's annotation by which the Network Plumbing Working Group has networks told (Kubernetes
/// Network Custom Resource Definition De-facto Standard, section 5).
inline constexpr const char* kNetworkStatusAnnotation = "k8s.v1.cni.cncf.io/network-status";

/// Its value, an entry for each VIF: the default one is of the CNI network of that name, the others
/// of the Neutron network that they name.
[[nodiscard]] nlohmann::ordered_json NetworkStatusOf(const std::string& network,
                                                     const std::vector<PluggedVif>& vifs);

}  // namespace kuryr::cni
