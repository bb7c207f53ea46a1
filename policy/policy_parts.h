#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "policy/network_policy.h"
#include "policy/policy_field.h"

namespace kuryr::policy {

/// Parts that NetworkPolicies and admins' policies have in common. All throw ParseError for a value
/// that is none of theirs.

inline constexpr const char* kMoreThanAllowed = "is more than a policy may have";

/// PortRange's word for "TCP", "UDP" or "SCTP"; TCP for a field that is not there.
[[nodiscard]] std::string ProtocolIn(const PolicyField& field);
/// The name of a pod's port: as IsValidPortName of Kubernetes has it, but for its rules on hyphens.
[[nodiscard]] std::string PortNameIn(const PolicyField& field);
/// A network with its length, without host bits.
[[nodiscard]] IpNetwork NetworkIn(const PolicyField& field);

template <typename T>
void SortOnce(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}
/// Sorts the rule's lists, and leaves each item once.
void SortOnce(NetworkPolicyRule& rule);

/// Takes the names that the compiled rule has: of its subject, and of each set that a named port
/// divides. False if the budget does not have them.
[[nodiscard]] bool TakeNames(PolicyBudget& budget, size_t subject_bytes,
                             const NetworkPolicyRule& rule);

/// The parts of a policy that are not understood.
class PolicyProblems {
 public:
  /// Decodes a part. False if it is not understood, which is noted.
  template <typename Act>
  bool Try(const Act& act) {
    try {
      act();
      return true;
    } catch (const ParseError& e) {
      if (count_++ == 0) first_ = e.what();
      return false;
    }
  }
  /// The first one, and how many more there are; empty: there is none.
  [[nodiscard]] std::string ToString() const {
    if (count_ < 2) return first_;
    return first_ + " (and " + std::to_string(count_ - 1) + " more)";
  }

 private:
  std::string first_;
  size_t count_ = 0;
};

}  // namespace kuryr::policy
