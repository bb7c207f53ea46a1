#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "controller/policy/compiled_policy.h"

namespace kuryr::controller::ovn {

/// Which sets of pods share pods with the subjects of rules that pass on. Only rows of these sets
/// are repeated for such a rule: another tenant's are not. Not thread-safe.
class SharedPods {
 public:
  /// The subjects of all rules that pass on. Costs a look at all members if they have changed.
  void SetSubjects(std::set<PodSet> subjects);
  /// The members are in these sets from now on. Returns the sets that share pods with other
  /// subjects than before.
  [[nodiscard]] std::set<PodSet> Take(const MemberSets& changes);

  [[nodiscard]] bool Share(const PodSet& set, const PodSet& subject) const;
  /// All members that are in any set.
  [[nodiscard]] const MemberSets& members() const noexcept { return members_; }

 private:
  using Counts = std::map<PodSet, size_t>;

  void Count(const std::set<PodSet>& sets, bool is_in, std::set<PodSet>& changed);

  std::set<PodSet> subjects_;
  MemberSets members_;
  std::map<PodSet, Counts> shared_;  ///< by set: how many of its members each subject has
};

}  // namespace kuryr::controller::ovn
