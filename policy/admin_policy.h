#pragma once

#include <nlohmann/json_fwd.hpp>

#include "policy/network_policy.h"

namespace kuryr::policy {

/// Decodes an AdminNetworkPolicy, or for tier kBaseline a BaselineAdminNetworkPolicy
/// (policy.networking.k8s.io/v1alpha1), also one that the API server would not take. What is not
/// understood fails closed. An Allow that is not understood allows nothing. Any other rule that is
/// not understood denies its subject everything. If the subject, the priority or a field of spec is
/// not understood, no rule allows or passes on: a Pass denies. The policy then is for all pods if
/// the subject is not understood, and comes before others if the priority is not.
[[nodiscard]] NetworkPolicy DecodeAdminPolicy(const nlohmann::json& object, PolicyTier tier);

}  // namespace kuryr::policy
