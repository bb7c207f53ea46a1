#include "controller/cluster/compiled_policies.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "controller/cluster/network_attachments.h"
#include "controller/cluster/network_policies.h"
#include "controller/kinds/key.h"
#include "policy/policy_events.h"

namespace kuryr::controller {
namespace {

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

std::vector<std::pair<watcher::KeyFn, std::string>> CompiledPolicies::Consumes() const {
  std::vector<std::pair<watcher::KeyFn, std::string>> kinds = {
      {watcher::ObjectKind, "NetworkPolicy"},
      {watcher::ObjectKind, "Namespace"},
      {watcher::ObjectKind, "Pod"}};
  if (kinds_.admins) {
    kinds.emplace_back(watcher::ObjectKind, "Node");
    for (const policy::AdminKind& admins : policy::kAdminKinds)
      kinds.emplace_back(watcher::ObjectKind, admins.kind);
  }
  if (!kinds_.multi) return kinds;
  kinds.emplace_back(watcher::ObjectKind, "MultiNetworkPolicy");
  kinds.emplace_back(watcher::ObjectKind, "NetworkAttachmentDefinition");
  return kinds;
}

policy::PolicyChanges CompiledPolicies::Compile(const watcher::WatchEvent& event) {
  if (event.kind == "NetworkAttachmentDefinition")
    return compiler_.SetDefinition(KeyOf(event.name_space, event.name), NetworkIn(event));
  return policy::Compile(compiler_, event);
}

uint64_t CompiledPolicies::TakeWork() {
  const MutexLock lock(mutex_);
  return work_.Take();
}

void CompiledPolicies::Handle(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  if (event.kind == "Pod") {
    const bool may_have_port =
        event.type == watcher::EventType::kDeleted || policy::HasNode(*event.object);
    work_.NotePod(event.uid, may_have_port, all_);
  }
  const policy::PolicyChanges changes = Compile(event);
  if (changes.policies.empty() && changes.pods.empty()) return;
  work_.Note(changes, all_);
  all_.Apply(changes);
  if (enforcer_ != nullptr) enforcer_->Enforce(changes);
  for (const auto& [name, error] : changes.errors) wake_({NetworkPolicies::kKind, name});
}

void CompiledPolicies::StartTelling(PolicyEnforcer* enforcer) {
  const MutexLock lock(mutex_);
  enforcer_ = enforcer;
  if (enforcer_ == nullptr) return;
  enforcer_->Enforce({.policies = {all_.policies().begin(), all_.policies().end()},
                      .pods = all_.pods(),
                      .errors = all_.errors()});
}

void CompiledPolicies::StopTelling() {
  const MutexLock lock(mutex_);
  enforcer_ = nullptr;
}

std::optional<std::string> CompiledPolicies::ErrorOf(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto error = all_.errors().find(name);
  return error == all_.errors().end() ? std::nullopt : std::optional(error->second);
}

}  // namespace kuryr::controller
