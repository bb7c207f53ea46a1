#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/policy/address_block.h"

namespace kuryr::controller {

/// A set of pods that policies choose, by selectors and perhaps by a named port. Equal selectors
/// give the same name, whichever policy has them.
using PodSet = std::string;

enum class TrafficDirection { kIngress, kEgress };

/// Ports of one protocol.
struct PortRange {
  std::string protocol;  ///< "tcp", "udp" or "sctp"
  uint16_t first = 0;
  uint16_t last = UINT16_MAX;

  auto operator<=>(const PortRange&) const = default;
};

/// Traffic that a policy allows. Replies are always allowed.
struct PolicyRule {
  TrafficDirection direction = TrafficDirection::kIngress;
  PodSet subject;         ///< the pods that may receive, or send
  bool any_peer = false;  ///< then `peers` and `blocks` are empty
  std::vector<PodSet> peers;
  std::vector<AddressBlock> blocks;
  std::vector<IpNetwork> networks;  ///< the addresses of `blocks`, sorted
  bool any_port = false;  ///< then `ports` is empty
  std::vector<PortRange> ports;

  auto operator<=>(const PolicyRule&) const = default;
};

/// A NetworkPolicy as sets of pods (networking.k8s.io/v1). Pods that a policy isolates in a
/// direction lose the traffic of that direction that no rule allows.
struct CompiledPolicy {
  PodSet subject;  ///< the pods that the policy selects
  bool isolates_ingress = false;
  bool isolates_egress = false;
  std::vector<PolicyRule> rules;  ///< none without a peer, and none without a port

  bool operator==(const CompiledPolicy&) const = default;
};

/// The changes since the last ones. Policies and pods belong together: a set gets its pods at the
/// same time as the first policy that names it.
struct PolicyChanges {
  /// By NAMESPACE/NAME; nullopt: the policy is gone.
  std::map<std::string, std::optional<CompiledPolicy>> policies;
  /// By UID: all sets that the pod is in from now on. A set that no policy names has no pods.
  std::map<std::string, std::set<PodSet>> pods;
  /// By NAMESPACE/NAME, for a policy in `policies`: the first field that is not understood, and
  /// why. That policy allows less than it says.
  std::map<std::string, std::string> errors;

  bool operator==(const PolicyChanges&) const = default;
};

}  // namespace kuryr::controller
