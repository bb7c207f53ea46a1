#include "controller/backends/pools/flat_policies.h"

namespace kuryr::controller::pools {
namespace {

/// Names no pod: while pods come and go, the Event stays one.
std::string NoneHolds(const std::string& pool) {
  return "no policy holds for pods of pool \"" + pool +
         "\": it is flat, so their packets pass no node. Use a routed pool (node_prefix or "
         "from_node), or [controller] backend = ovn";
}

}  // namespace

void FlatPolicies::Set(const std::string& pod_id, const std::string& pool) {
  const MutexLock lock(mutex_);
  const bool is_new = flat_.insert_or_assign(pod_id, pool).second;
  const auto sets = sets_.find(pod_id);
  if (!is_new || sets == sets_.end()) return;
  for (const std::string& set : sets->second) flat_in_[set].insert(pod_id);
  WakeOf(sets->second);
}

void FlatPolicies::Remove(const std::string& pod_id) {
  const MutexLock lock(mutex_);
  if (flat_.erase(pod_id) == 0) return;
  Forget(pod_id);
}

void FlatPolicies::Forget(const std::string& pod_id) {
  const auto sets = sets_.find(pod_id);
  if (sets == sets_.end()) return;
  for (const std::string& set : sets->second) {
    const auto flat = flat_in_.find(set);
    if (flat == flat_in_.end()) continue;
    flat->second.erase(pod_id);
    if (flat->second.empty()) flat_in_.erase(flat);
  }
}

void FlatPolicies::Enforce(const policy::PolicyChanges& changes) {
  const MutexLock lock(mutex_);
  for (const auto& [name, policy] : changes.policies) {
    if (policy && !policy->networks) {
      subjects_[name] = policy->subject;
    } else {
      subjects_.erase(name);
    }
  }
  Names woken;
  for (const auto& [member, sets] : changes.pods) {
    Forget(member);
    if (sets.empty()) {
      sets_.erase(member);
      continue;
    }
    sets_[member] = sets;
    if (!flat_.contains(member)) continue;
    for (const std::string& set : sets) flat_in_[set].insert(member);
    woken.insert(sets.begin(), sets.end());
  }
  WakeOf(woken);
}

void FlatPolicies::WakeOf(const Names& sets) {
  if (!wake_) return;
  for (const auto& [name, subject] : subjects_) {
    if (sets.contains(subject)) wake_(name);
  }
}

std::optional<std::string> FlatPolicies::FindRefusal(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto subject = subjects_.find(name);
  if (subject == subjects_.end()) return std::nullopt;
  const auto flat = flat_in_.find(subject->second);
  if (flat == flat_in_.end()) return std::nullopt;
  return NoneHolds(flat_.at(*flat->second.begin()));
}

std::optional<std::string> FlatPolicies::WhyNoneHolds(const std::string& pod_id) const {
  const MutexLock lock(mutex_);
  const auto pod = flat_.find(pod_id);
  if (pod == flat_.end()) return std::nullopt;
  return NoneHolds(pod->second);
}

}  // namespace kuryr::controller::pools
