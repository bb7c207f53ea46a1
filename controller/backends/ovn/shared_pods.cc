#include "controller/backends/ovn/shared_pods.h"

#include <utility>

namespace kuryr::controller::ovn {

void SharedPods::SetSubjects(std::set<policy::PodSet> subjects) {
  if (subjects_ == subjects) return;
  subjects_ = std::move(subjects);
  shared_.clear();
  std::set<policy::PodSet> changed;
  for (const auto& [member, sets] : members_) Count(sets, true, changed);
}

std::set<policy::PodSet> SharedPods::Take(const policy::MemberSets& changes) {
  std::set<policy::PodSet> changed;
  for (const auto& [member, sets] : changes) {
    const auto known = members_.find(member);
    // First those that come: a set that keeps its last pod has not changed.
    Count(sets, true, changed);
    if (known != members_.end()) Count(known->second, false, changed);
    if (!sets.empty()) {
      members_[member] = sets;
    } else if (known != members_.end()) {
      members_.erase(known);
    }
  }
  return changed;
}

void SharedPods::Count(const std::set<policy::PodSet>& sets, bool is_in,
                       std::set<policy::PodSet>& changed) {
  for (const policy::PodSet& subject : subjects_) {
    if (!sets.contains(subject)) continue;
    for (const policy::PodSet& set : sets) {
      Counts& counts = shared_[set];
      if (is_in ? counts[subject]++ == 0 : --counts[subject] == 0) changed.insert(set);
      if (!is_in && counts[subject] == 0) counts.erase(subject);
      if (counts.empty()) shared_.erase(set);
    }
  }
}

bool SharedPods::Share(const policy::PodSet& set, const policy::PodSet& subject) const {
  const auto counts = shared_.find(set);
  return counts != shared_.end() && counts->second.contains(subject);
}

}  // namespace kuryr::controller::ovn
