#pragma once

#include <nlohmann/json_fwd.hpp>

#include "controller/backends/backend.h"
#include "controller/owners/pod_facts.h"

namespace kuryr::controller {

/// As nodes tell which interfaces a pod has (Network Plumbing Working Group, Kubernetes Network
/// Custom Resource Definition De-facto Standard 1.3, section 5).
inline constexpr const char* kNetworkStatusAnnotation = "k8s.v1.cni.cncf.io/network-status";

/// A pod runs, and its plan is gone: the request is for the addresses that it has. Those of eth0
/// are in its status, which nodes alone write. Those of its other interfaces, with their MACs, are
/// in an annotation that its user may have written: they are wishes like any other. `object` is the
/// Pod.
void AskForTheSame(const PodFacts& pod, const nlohmann::json& object, PlanRequest& request);

}  // namespace kuryr::controller
