#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "policy/network_policy.h"

namespace kuryr::policy {

/// A kind of admins' policies, of API group policy.networking.k8s.io.
struct AdminKind {
  const char* kind;
  const char* api_version;
  const char* plural;
  std::optional<PolicyTier> tier;  ///< nullopt: spec.tier says it

  /// Of the API server's list.
  [[nodiscard]] std::string path() const {
    return std::string("/apis/") + api_version + "/" + plural;
  }
};

inline constexpr AdminKind kClusterPolicy = {.kind = "ClusterNetworkPolicy",
                                             .api_version = "policy.networking.k8s.io/v1alpha2",
                                             .plural = "clusternetworkpolicies",
                                             .tier = std::nullopt};
/// The API has replaced these two by the first one.
inline constexpr AdminKind kAdminPolicy = {.kind = "AdminNetworkPolicy",
                                           .api_version = "policy.networking.k8s.io/v1alpha1",
                                           .plural = "adminnetworkpolicies",
                                           .tier = PolicyTier::kAdmin};
inline constexpr AdminKind kBaselinePolicy = {.kind = "BaselineAdminNetworkPolicy",
                                              .api_version = "policy.networking.k8s.io/v1alpha1",
                                              .plural = "baselineadminnetworkpolicies",
                                              .tier = PolicyTier::kBaseline};
inline constexpr std::array kAdminKinds = {kClusterPolicy, kAdminPolicy, kBaselinePolicy};

/// nullptr: the kind is no admins' policy.
[[nodiscard]] const AdminKind* FindAdminKind(const std::string& kind) noexcept;

/// Decodes a policy of this kind, also one that the API server would not take. What is not
/// understood fails closed. An Accept (v1alpha1: Allow) that is not understood allows nothing. Any
/// other rule that is not understood denies its subject everything. If the tier, the subject, the
/// priority or a field of spec is not understood, no rule allows or passes on: a Pass denies. The
/// policy then is for all pods if the subject is not understood, comes before others if the
/// priority is not, and before NetworkPolicies if the tier is not.
[[nodiscard]] NetworkPolicy DecodeAdminPolicy(const nlohmann::json& object, const AdminKind& kind);

}  // namespace kuryr::policy
