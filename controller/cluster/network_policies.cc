#include "controller/cluster/network_policies.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "policy/admin_policy.h"
#include "policy/network_policy.h"
#include "policy/policy_compiler.h"

namespace kuryr::controller {
namespace {

/// The policy's name in PolicyChanges.
std::string NameOf(const watcher::WatchEvent& event) {
  if (event.kind == kMultiPolicy) return policy::MultiPolicyKey(event.name_space, event.name);
  return KeyOf(event.name_space.empty() ? event.kind : event.name_space, event.name);
}

const char* VersionOf(const watcher::WatchEvent& event) {
  if (event.kind == kMultiPolicy) return "k8s.cni.cncf.io/v1beta1";
  const policy::AdminKind* admins = policy::FindAdminKind(event.kind);
  return admins == nullptr ? "networking.k8s.io/v1" : admins->api_version;
}

std::string ProblemOf(const watcher::WatchEvent& event) {
  if (event.kind == "NetworkPolicy") return policy::DecodeNetworkPolicy(*event.object).problem;
  const policy::AdminKind* admins = policy::FindAdminKind(event.kind);
  return admins == nullptr ? "" : policy::DecodeAdminPolicy(*event.object, *admins).problem;
}

}  // namespace

void NetworkPolicies::StartTelling() {
  const MutexLock lock(mutex_);
  for (const auto& [name, policy] : policies_) wake_({kKind, name});
}

std::vector<std::pair<watcher::KeyFn, std::string>> NetworkPolicies::Consumes() const {
  std::vector<std::pair<watcher::KeyFn, std::string>> kinds = {
      {watcher::ObjectKind, "NetworkPolicy"}, {watcher::ObjectKind, kMultiPolicy}};
  for (const policy::AdminKind& admins : policy::kAdminKinds)
    kinds.emplace_back(watcher::ObjectKind, admins.kind);
  return kinds;
}

void NetworkPolicies::Handle(const watcher::WatchEvent& event) {
  if (event.type != watcher::EventType::kDeleted) return OnPresent(event);
  const MutexLock lock(mutex_);
  policies_.erase(NameOf(event));
}

bool NetworkPolicies::IsEnforced(const std::string& kind) const {
  if (kind == kMultiPolicy) return enforced_.multi;
  return policy::FindAdminKind(kind) == nullptr ? enforced_.policies : enforced_.admins;
}

/// Kinds whose policies all have one tier are those of v1alpha1.
void NetworkPolicies::TellOfOld(const watcher::WatchEvent& event) {
  const policy::AdminKind* admins = policy::FindAdminKind(event.kind);
  if (admins == nullptr || !admins->tier || std::exchange(has_told_of_old_, true)) return;
  Log(LogLevel::kWarning, "the next release does not read this kind: write a ClusterNetworkPolicy",
      {{"policy", event.kind + "/" + event.name},
       {"api_version", policy::kClusterPolicy.api_version}});
}

void NetworkPolicies::OnPresent(const watcher::WatchEvent& event) {
  const std::string name = NameOf(event);
  const bool is_enforced = IsEnforced(event.kind);
  {
    const MutexLock lock(mutex_);
    TellOfOld(event);
    Policy& known = policies_[name];
    if (known.uid == event.uid && !is_enforced) return;
    known = {.kind = event.kind,
             .api_version = VersionOf(event),
             .name_space = event.name_space,
             .name = event.name,
             .uid = event.uid,
             .is_enforced = is_enforced,
             .problem = enforced_.decodes ? ProblemOf(event) : "",
             .told = {}};
  }
  wake_({kKind, name});
}

std::optional<NetworkPolicies::Policy> NetworkPolicies::Find(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto known = policies_.find(name);
  return known == policies_.end() ? std::nullopt : std::optional(known->second);
}

bool NetworkPolicies::IsNews(const std::string& name, const std::string& message) {
  const Clock::time_point now = Clock::now();
  const MutexLock lock(mutex_);
  const auto known = policies_.find(name);
  if (known == policies_.end()) return false;
  const auto [told, is_new] = known->second.told.try_emplace(message, now);
  if (!is_new && now < told->second + kAgain) return false;
  told->second = now;
  return true;
}

size_t NetworkPolicies::CountNotEnforced() const {
  const MutexLock lock(mutex_);
  const auto count = std::count_if(policies_.begin(), policies_.end(),
                                   [](const auto& each) { return !each.second.is_enforced; });
  return static_cast<size_t>(count);
}

}  // namespace kuryr::controller
