#pragma once

#include <map>
#include <string>
#include <vector>

#include "policy/compiled_policy.h"

namespace kuryr::controller::ovn {

/// The priorities of ACLs (ovn-nb(5), ACL). The ACL of the highest priority that matches decides.
inline constexpr int kTrackPriority = 1;
inline constexpr int kDropPriority = 1000;
inline constexpr int kAllowPriority = 1001;  ///< the lowest of what NetworkPolicies allow
inline constexpr int kAllowPriorities = 999;
inline constexpr int kNodePriority = 32767;

/// A rule of an admin's policy, and the priority of its ACLs.
struct AdminRule {
  std::string policy;  ///< as PolicyChanges has it
  std::string name;    ///< POLICY/NUMBER
  policy::PolicyRule rule;
  int priority = 0;  ///< the first of the stretch, if the rule passes on
};

/// The order of all admins' rules as priorities. OVN 23.03 has no tiers of ACLs, and an ACL cannot
/// pass on. So each rule that passes on has a stretch of priorities before the rules that it skips.
/// There, what NetworkPolicies and the baseline say is repeated for its traffic alone, and the rest
/// of its traffic is allowed.
class AdminLadder {
 public:
  AdminLadder() = default;
  /// Orders the admins' policies among these.
  explicit AdminLadder(const std::map<std::string, policy::CompiledPolicy>& policies);

  [[nodiscard]] const std::vector<AdminRule>& rules() const noexcept { return rules_; }
  [[nodiscard]] const std::vector<AdminRule>& baseline() const noexcept { return baseline_; }

  /// The priority in the stretch of `passing`, for what has `priority` elsewhere.
  [[nodiscard]] static int Within(const AdminRule& passing, int priority);
  /// The priority in the stretch of `passing` for what nothing else decides.
  [[nodiscard]] int RestOf(const AdminRule& passing) const;

 private:
  void AddRules(const std::map<std::string, policy::CompiledPolicy>& policies,
                policy::TrafficDirection direction);
  void AddBaseline(const std::map<std::string, policy::CompiledPolicy>& policies,
                   policy::TrafficDirection direction);

  std::vector<AdminRule> rules_;
  std::vector<AdminRule> baseline_;
  int lowest_ = 0;  ///< of the baseline
};

}  // namespace kuryr::controller::ovn
