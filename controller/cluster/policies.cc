#include "controller/cluster/policies.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "controller/cluster/network_attachments.h"
#include "policy/admin_policy.h"
#include "policy/network_policy.h"
#include "policy/policy_events.h"

namespace kuryr::controller {
namespace {

constexpr const char* kDefinition = "NetworkAttachmentDefinition";
constexpr const char* kMultiPolicy = "MultiNetworkPolicy";
constexpr const char* kPolicy = "NetworkPolicy";

bool IsPolicy(const std::string& kind) {
  return kind == kPolicy || kind == kMultiPolicy || policy::FindAdminKind(kind) != nullptr;
}

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
  if (event.kind == kPolicy) return policy::DecodeNetworkPolicy(*event.object).problem;
  const policy::AdminKind* admins = policy::FindAdminKind(event.kind);
  return admins == nullptr ? "" : policy::DecodeAdminPolicy(*event.object, *admins).problem;
}

/// nullopt: the definition is gone, or cannot be read.
std::optional<std::string> NetworkIn(const watcher::WatchEvent& event) {
  if (event.type == watcher::EventType::kDeleted) return std::nullopt;
  try {
    return NetworkNamedBy(*event.object);
  } catch (const ParseError&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<WatchedPath> Policies::Paths() {
  using watcher::WatchMode;
  std::vector<WatchedPath> paths = {
      {.path = "/apis/networking.k8s.io/v1/networkpolicies",
       .mode = needs_.policies ? WatchMode::kSet : WatchMode::kOptionalSet,
       .forbidden = "networkpolicies, which nobody is told of"},
      {.path = "/apis/k8s.cni.cncf.io/v1beta1/multi-networkpolicies",
       .forbidden = "multi-networkpolicies, which nothing enforces then"}};
  for (const policy::AdminKind& admins : policy::kAdminKinds)
    paths.push_back(
        {.path = admins.path(), .forbidden = "admins' policies, which nothing enforces then"});
  if (needs_.policies) paths.push_back({.path = "/api/v1/namespaces", .mode = WatchMode::kSet});
  if (needs_.admin_policies) paths.push_back({.path = "/api/v1/nodes", .forbidden = "nodes"});
  return paths;
}

std::vector<std::pair<watcher::KeyFn, std::string>> Policies::Consumes() const {
  std::vector<std::string> kinds = {kPolicy, kMultiPolicy, "Namespace", "Pod", kDefinition, "Node"};
  for (const policy::AdminKind& admins : policy::kAdminKinds) kinds.emplace_back(admins.kind);
  std::vector<std::pair<watcher::KeyFn, std::string>> consumed;
  for (const std::string& kind : kinds) {
    if (IsPolicy(kind) || IsCompiled(kind)) consumed.emplace_back(watcher::ObjectKind, kind);
  }
  return consumed;
}

bool Policies::IsCompiled(const std::string& kind) const {
  if (!needs_.policies) return false;
  if (kind == "Node" || policy::FindAdminKind(kind) != nullptr) return needs_.admin_policies;
  if (kind == kDefinition || kind == kMultiPolicy) return needs_.multi_policies;
  return true;
}

bool Policies::IsEnforced(const std::string& kind) const {
  if (kind == kMultiPolicy) return needs_.multi_policies;
  if (needs_.node_policies) return true;
  return policy::FindAdminKind(kind) == nullptr ? needs_.policies : needs_.admin_policies;
}

/// A policy is known, and its user hears of it, also where it cannot be compiled.
void Policies::Handle(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  if (IsPolicy(event.kind)) Note(event);
  if (IsCompiled(event.kind)) Compile(event);
}

void Policies::Note(const watcher::WatchEvent& policy) {
  const std::string name = NameOf(policy);
  if (policy.type == watcher::EventType::kDeleted) {
    policies_.erase(name);
    return;
  }
  WarnOfOld(policy);
  const bool is_enforced = IsEnforced(policy.kind);
  Policy& known = policies_[name];
  if (known.uid == policy.uid && !is_enforced) return;
  known = {.kind = policy.kind,
           .api_version = VersionOf(policy),
           .name_space = policy.name_space,
           .name = policy.name,
           .uid = policy.uid,
           .is_enforced = is_enforced,
           .problem = needs_.node_policies ? ProblemOf(policy) : "",
           .told = {}};
  wake_({kKind, name});
}

/// Kinds whose policies all have one tier are those of v1alpha1.
void Policies::WarnOfOld(const watcher::WatchEvent& policy) {
  const policy::AdminKind* admins = policy::FindAdminKind(policy.kind);
  if (admins == nullptr || !admins->tier || std::exchange(has_warned_of_old_, true)) return;
  Log(LogLevel::kWarning, "the next release does not read this kind: write a ClusterNetworkPolicy",
      {{"policy", policy.kind + "/" + policy.name},
       {"api_version", policy::kClusterPolicy.api_version}});
}

void Policies::Compile(const watcher::WatchEvent& event) {
  if (event.kind == "Pod") {
    const bool may_have_port =
        event.type == watcher::EventType::kDeleted || policy::HasNode(*event.object);
    work_.NotePod(event.uid, may_have_port, all_);
  }
  const policy::PolicyChanges changes =
      event.kind == kDefinition
          ? compiler_.SetDefinition(KeyOf(event.name_space, event.name), NetworkIn(event))
          : policy::Compile(compiler_, event);
  if (changes.policies.empty() && changes.pods.empty()) return;
  work_.Note(changes, all_);
  all_.Apply(changes);
  if (enforcer_ != nullptr) enforcer_->Enforce(changes);
  for (const auto& [name, error] : changes.errors) wake_({kKind, name});
}

void Policies::BeginTerm(const Term& term) {
  const MutexLock lock(mutex_);
  enforcer_ = term.backend.facets().policies;
  if (enforcer_ != nullptr) {
    enforcer_->Enforce({.policies = {all_.policies().begin(), all_.policies().end()},
                        .pods = all_.pods(),
                        .errors = all_.errors()});
  }
  for (const auto& [name, policy] : policies_) wake_({kKind, name});
}

void Policies::EndTerm() {
  const MutexLock lock(mutex_);
  enforcer_ = nullptr;
}

std::optional<Policies::Policy> Policies::Find(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto known = policies_.find(name);
  if (known == policies_.end()) return std::nullopt;
  Policy policy = known->second;
  if (const auto error = all_.errors().find(name); error != all_.errors().end())
    policy.problem = error->second;
  return policy;
}

bool Policies::IsNews(const std::string& name, const std::string& message) {
  const Clock::time_point now = Clock::now();
  const MutexLock lock(mutex_);
  const auto known = policies_.find(name);
  if (known == policies_.end()) return false;
  const auto [told, is_new] = known->second.told.try_emplace(message, now);
  if (!is_new && now < told->second + kAgain) return false;
  told->second = now;
  return true;
}

void Policies::WriteTo(service::MetricsText& text) const {
  const MutexLock lock(mutex_);
  const auto count = std::count_if(policies_.begin(), policies_.end(),
                                   [](const auto& each) { return !each.second.is_enforced; });
  text.Metric("kuryr_controller_policies_not_enforced", "gauge",
              "Policies of the cluster that nothing enforces.", static_cast<double>(count));
  const auto refused =
      std::count_if(policies_.begin(), policies_.end(),
                    [&](const auto& each) KURYR_TSA(requires_capability(mutex_)) {
                      return enforcer_ != nullptr && enforcer_->FindRefusal(each.first);
                    });
  text.Metric("kuryr_controller_policies_refused", "gauge",
              "Policies of which a part is not enforced.", static_cast<double>(refused));
}

uint64_t Policies::TakeWork() {
  const MutexLock lock(mutex_);
  return work_.Take();
}

}  // namespace kuryr::controller
