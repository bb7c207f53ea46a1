#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policy/compiled_policy.h"
#include "policy/label_selector.h"

namespace kuryr::policy {

/// A port that pods name in their containers.
struct PortName {
  std::string protocol;  ///< as PortRange's
  std::string name;

  auto operator<=>(const PortName&) const = default;
};

struct PeerSelector {
  std::optional<LabelSelector> namespaces;  ///< nullopt: the policy's own namespace
  LabelSelector pods;

  auto operator<=>(const PeerSelector&) const = default;

  /// Equal for equal selectors only.
  [[nodiscard]] std::string ToString() const;
};

/// An entry of `ingress` or `egress`. Lists are sorted, and have each item once.
struct NetworkPolicyRule {
  TrafficDirection direction = TrafficDirection::kIngress;
  bool any_peer = false;  ///< then `peers` and `blocks` are empty
  std::vector<PeerSelector> peers;
  std::vector<AddressBlock> blocks;  ///< without host bits
  std::vector<IpNetwork> networks;   ///< as PolicyRule's
  std::vector<LabelSelector> nodes;  ///< their addresses are peers, too; only of admins' policies
  bool any_port = false;             ///< then `ports` and `named_ports` are empty
  std::vector<PortRange> ports;
  std::vector<PortName> named_ports;
  PolicyAction action = PolicyAction::kAllow;

  bool operator==(const NetworkPolicyRule&) const = default;
};

/// A NetworkPolicy as its user wrote it, with the API's defaults (k8s.io/api networking/v1). What
/// is not understood never allows anything: such a rule is left out. A podSelector that is not
/// understood chooses all pods of the namespace. Policy types that are not understood isolate both
/// ways. In both cases the policy has no rules.
struct NetworkPolicy {
  std::optional<LabelSelector> namespaces;  ///< of `pods`; nullopt: the policy's own namespace
  LabelSelector pods;
  bool isolates_ingress = false;
  bool isolates_egress = false;
  std::vector<NetworkPolicyRule> rules;  ///< only of directions that are isolated
  /// NetworkAttachmentDefinitions, NAMESPACE/NAME, of the networks that it is for; nullopt: it is
  /// for interface eth0.
  std::optional<std::vector<std::string>> definitions;
  PolicyTier tier = PolicyTier::kNetwork;
  int priority = 0;     ///< as CompiledPolicy's
  std::string problem;  ///< the first field that is not understood, and why; empty: there is none

  bool operator==(const NetworkPolicy&) const = default;
};

/// Decodes any value, also one that the API server would not take.
[[nodiscard]] NetworkPolicy DecodeNetworkPolicy(const nlohmann::json& object);

}  // namespace kuryr::policy
