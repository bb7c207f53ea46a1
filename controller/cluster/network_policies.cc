#include "controller/cluster/network_policies.h"

namespace kuryr::controller {
namespace {

/// A namespace's name has no colon.
constexpr const char* kPrefix = "networkpolicy:";

std::string KeyFor(const watcher::WatchEvent& event) {
  return PolicyKeyOf(event.name_space + "/" + event.name);
}

}  // namespace

std::string PolicyKeyOf(const std::string& name) { return kPrefix + name; }

bool IsPolicyKey(const std::string& key) { return key.starts_with(kPrefix); }

void NetworkPolicies::StartTelling() {
  const MutexLock lock(mutex_);
  for (const auto& [key, policy] : policies_) wake_(key);
}

void NetworkPolicies::OnPresent(const watcher::WatchEvent& event) {
  const std::string key = KeyFor(event);
  {
    const MutexLock lock(mutex_);
    Policy& known = policies_[key];
    if (known.uid == event.uid && !is_enforced_) return;
    known = {.name_space = event.name_space, .name = event.name, .uid = event.uid};
  }
  wake_(key);
}

void NetworkPolicies::OnDeleted(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  policies_.erase(KeyFor(event));
}

std::optional<NetworkPolicies::Policy> NetworkPolicies::Find(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto known = policies_.find(key);
  return known == policies_.end() ? std::nullopt : std::optional(known->second);
}

size_t NetworkPolicies::size() const {
  const MutexLock lock(mutex_);
  return policies_.size();
}

}  // namespace kuryr::controller
