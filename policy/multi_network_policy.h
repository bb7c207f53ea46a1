#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "policy/network_policy.h"

namespace kuryr::policy {

/// The networks of a MultiNetworkPolicy: NetworkAttachmentDefinitions as NAME or NAMESPACE/NAME,
/// separated by commas. A bare NAME is in the policy's namespace.
inline constexpr const char* kPolicyForAnnotation = "k8s.v1.cni.cncf.io/policy-for";
/// The most networks of one policy.
inline constexpr size_t kMostPolicyNetworks = 16;

/// Decodes a MultiNetworkPolicy of the namespace (k8s.cni.cncf.io/v1beta1), also one that the API
/// server would not take. The spec is as DecodeNetworkPolicy's. An annotation that is missing or
/// not understood names the definition "", which never exists.
[[nodiscard]] NetworkPolicy DecodeMultiNetworkPolicy(const nlohmann::json& object,
                                                     const std::string& name_space);

}  // namespace kuryr::policy
