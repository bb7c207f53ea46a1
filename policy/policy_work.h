#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "policy/policy_verdicts.h"

namespace kuryr::policy {

/// What pods that come and go cost the programs that enforce the policies. When a pod joins or
/// leaves a set, ovn-controller reads again all rules of that set, on every node: it knows no
/// smaller change of a port group. A pod has no port before it has a node. Not thread-safe.
class PolicyWork {
 public:
  /// Before `known` has the changes.
  void Note(const PolicyChanges& changes, const PolicyVerdicts& known);
  /// Before the changes of the pod's sets are noted.
  void NotePod(const std::string& uid, bool has_node, const PolicyVerdicts& known);

  /// The peers in the rules that are read again since the last call. Sets of several pods count
  /// once, for their changes are one.
  [[nodiscard]] uint64_t Take();

 private:
  void Weigh(const CompiledPolicy& policy, int64_t times);

  std::map<PodSet, int64_t> weights_;  ///< the peers in the rules for its pods
  std::set<PodSet> changed_;
  std::set<std::string> without_node_;  ///< pods, by UID
};

/// Whether the pod of the API's object is to run on a node.
[[nodiscard]] bool HasNode(const nlohmann::json& pod);

}  // namespace kuryr::policy
