#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/address_block.h"
#include "policy/policy_member.h"

namespace kuryr::policy {

/// A set of pods that policies choose, by selectors and perhaps by networks and a named port. Equal
/// selectors give the same name, whichever policy has them.
using PodSet = std::string;

enum class TrafficDirection { kIngress, kEgress };

/// The fate of traffic that a rule matches. Traffic that a rule passes on skips the further rules
/// of its tier.
enum class PolicyAction { kAllow, kDeny, kPass };

/// Admins' policies are asked first, NetworkPolicies next. The baseline is asked about pods that no
/// NetworkPolicy isolates. What it passes on is allowed.
enum class PolicyTier { kAdmin, kNetwork, kBaseline };

/// Ports of one protocol.
struct PortRange {
  std::string protocol;  ///< "tcp", "udp" or "sctp"
  uint16_t first = 0;
  uint16_t last = UINT16_MAX;

  auto operator<=>(const PortRange&) const = default;
};

/// Traffic that a policy allows, denies or passes on. Replies are always allowed.
struct PolicyRule {
  TrafficDirection direction = TrafficDirection::kIngress;
  PodSet subject;         ///< the pods that may receive, or send
  bool any_peer = false;  ///< then `peers` and `blocks` are empty
  std::vector<PodSet> peers;
  std::vector<AddressBlock> blocks;
  std::vector<IpNetwork> networks;  ///< the addresses of `blocks`, sorted
  bool any_port = false;            ///< then `ports` is empty
  std::vector<PortRange> ports;
  PolicyAction action = PolicyAction::kAllow;  ///< a NetworkPolicy only allows

  auto operator<=>(const PolicyRule&) const = default;
};

/// A NetworkPolicy as sets of pods (networking.k8s.io/v1). Sets of a MultiNetworkPolicy
/// (k8s.cni.cncf.io/v1beta1) have members on its networks alone. Pods that a policy isolates in a
/// direction lose the traffic of that direction that no rule allows. An admin's policy
/// (policy.networking.k8s.io) isolates nothing, and the first rule that matches counts.
struct CompiledPolicy {
  PodSet subject;  ///< the pods that the policy selects
  bool isolates_ingress = false;
  bool isolates_egress = false;
  std::vector<PolicyRule> rules;  ///< none without a peer, and none without a port
  PolicyTier tier = PolicyTier::kNetwork;
  int priority = 0;  ///< of an admin's policy: the lowest is asked first; of equal ones, by name
  /// The networks on which a MultiNetworkPolicy isolates, sorted. kAnyNetwork alone: one of its
  /// definitions is not known. nullopt: the policy is for interface eth0.
  std::optional<std::vector<std::string>> networks;

  bool operator==(const CompiledPolicy&) const = default;
};

/// The changes since the last ones. Policies and pods belong together: a set gets its pods at the
/// same time as the first policy that names it.
struct PolicyChanges {
  /// By NAMESPACE/NAME; by KIND/NAME for an admin's, and KIND/NAMESPACE/NAME for a
  /// MultiNetworkPolicy; nullopt: the policy is gone.
  std::map<std::string, std::optional<CompiledPolicy>> policies;
  /// All sets that the member is in from now on. A set that no policy names has no members. A pod
  /// also is a member on networks that it does not attach to.
  MemberSets pods;
  /// By NAMESPACE/NAME, for a policy in `policies`: the first field that is not understood, and
  /// why. That policy allows less than it says.
  std::map<std::string, std::string> errors;

  bool operator==(const PolicyChanges&) const = default;
};

}  // namespace kuryr::policy
