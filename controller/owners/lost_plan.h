#pragma once

#include <nlohmann/json_fwd.hpp>

#include "controller/backends/backend.h"
#include "controller/owners/pod_facts.h"

namespace kuryr::controller {

/// The annotation in which nodes tell a pod's interfaces (Network Plumbing Working Group,
/// Kubernetes Network Custom Resource Definition De-facto Standard 1.3, section 5).
inline constexpr const char* kNetworkStatusAnnotation = "k8s.v1.cni.cncf.io/network-status";

/// Makes the request of a running pod whose plan is gone ask for the addresses that it has. Those
/// of eth0 are in its status, which only nodes write. Those of other interfaces, with their MACs,
/// are in an annotation that its user may have written: they count as wishes. `object` is the Pod.
void AskForTheSame(const PodFacts& pod, const nlohmann::json& object, PlanRequest& request);

/// Whether the pod's network status tells of its interfaces, and none of them has one of the
/// addresses: its node has unplugged them.
[[nodiscard]] bool TellsOfNone(const nlohmann::json& pod, const std::vector<IpAddress>& addresses);

}  // namespace kuryr::controller
