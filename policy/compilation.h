#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/compiled_policy.h"
#include "policy/network_policy.h"
#include "policy/pod_sets.h"
#include "policy/policy_node.h"

namespace kuryr::policy {

/// The networks of a MultiNetworkPolicy.
struct PolicyNetworks {
  std::vector<std::string> names;      ///< sorted
  std::optional<std::string> unknown;  ///< a definition whose network is not known
};

/// Compiles one policy of a namespace.
class Compilation {
 public:
  /// Bytes of the rules that named ports make: one for each number that a pod gives to such a port,
  /// with all its peers. Sets of further numbers have pods, and no rule names them. Also of the
  /// addresses of nodes.
  static constexpr size_t kMostBytes = size_t{1} << 20;

  /// Borrows all but the name. `networks` is nullopt for interface eth0.
  Compilation(const PodSets& sets, const PolicyNodes& nodes, std::string name_space,
              const NetworkPolicy& policy, const std::optional<PolicyNetworks>& networks);

  using Uses = std::map<PodSetUse, PodChoice>;
  /// The sets that the policy's named ports divide. `sets` has to know of them before Run.
  [[nodiscard]] Uses Splits() const;
  /// The policy as sets. Numbers of named ports beyond kMostBytes allow nothing, and rules that
  /// deny or pass on deny all ports instead. A rule whose nodes are too many allows nothing, or
  /// denies everything.
  [[nodiscard]] CompiledPolicy Run();

  /// The sets that Run has named as a whole.
  [[nodiscard]] const Uses& wholes() const noexcept { return wholes_; }
  [[nodiscard]] bool has_more_parts() const noexcept { return has_more_parts_; }

 private:
  /// The pods that the policy isolates.
  [[nodiscard]] PodChoice Isolated() const;
  /// The pods that rules are for.
  [[nodiscard]] PodChoice Subject() const;
  [[nodiscard]] PodChoice ChoiceOf(const PeerSelector& peer) const;
  [[nodiscard]] std::vector<PodChoice> DividedBy(const NetworkPolicyRule& rule) const;
  PodSet Whole(const PodChoice& choice);
  [[nodiscard]] static PolicyRule Begin(const NetworkPolicyRule& rule, PodSet subject);
  void AddPeers(const NetworkPolicyRule& rule, PolicyRule& compiled);
  [[nodiscard]] bool AddNodes(const NetworkPolicyRule& rule, PolicyRule& compiled);
  void AddNumbers(const NetworkPolicyRule& rule, CompiledPolicy& compiled);
  void AddDenial(const NetworkPolicyRule& rule, CompiledPolicy& compiled);
  void AddNames(const NetworkPolicyRule& rule, CompiledPolicy& compiled);
  [[nodiscard]] size_t BytesOfNumber(const NetworkPolicyRule& rule) const;
  [[nodiscard]] std::map<uint16_t, std::vector<PodSet>> PartsOf(const NetworkPolicyRule& rule,
                                                                const PortName& port);

  const PodSets& sets_;
  const PolicyNodes& nodes_;
  const std::string name_space_;
  const NetworkPolicy& policy_;
  const std::optional<PolicyNetworks>& networks_;
  Uses wholes_;
  size_t bytes_ = 0;  ///< that count for kMostBytes
  bool has_more_parts_ = false;
};

}  // namespace kuryr::policy
