#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "policy/compiled_policy.h"

namespace kuryr::controller::ovn {

/// Which sets of pods share pods with the subjects of rules that pass on. Only rows of these sets
/// are repeated for such a rule: another tenant's are not. Not thread-safe.
class SharedPods {
 public:
  /// The subjects of all rules that pass on. Costs a look at all members if they have changed.
  void SetSubjects(std::set<policy::PodSet> subjects);
  /// The members are in these sets from now on. Returns the sets that share pods with other
  /// subjects than before.
  [[nodiscard]] std::set<policy::PodSet> Take(const policy::MemberSets& changes);

  [[nodiscard]] bool Share(const policy::PodSet& set, const policy::PodSet& subject) const;
  /// All members that are in any set.
  [[nodiscard]] const policy::MemberSets& members() const noexcept { return members_; }

 private:
  using Counts = std::map<policy::PodSet, size_t>;

  void Count(const std::set<policy::PodSet>& sets, bool is_in, std::set<policy::PodSet>& changed);

  std::set<policy::PodSet> subjects_;
  policy::MemberSets members_;
  std::map<policy::PodSet, Counts> shared_;  ///< by set: how many of its members each subject has
};

}  // namespace kuryr::controller::ovn
