#include "controller/cluster/namespaces.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "controller/plan/security_groups.h"

namespace kuryr::controller {
namespace {

/// Longer than any valid annotation. A longer one is cut, and then refused.
constexpr size_t kMostText = 1024;

}  // namespace

std::vector<WatchedPath> Namespaces::Paths() {
  if (!needs_.scopes) return {};
  return {{.path = "/api/v1/namespaces",
           .refuse = [this](const std::string& reason) { Refuse(reason); }}};
}

/// An empty list may mean that namespaces cannot be read; then none counts as ended.
void Namespaces::BeginTerm(const Term& term) {
  const MutexLock lock(mutex_);
  if (namespaces_.empty()) return;
  scopes_ = term.backend.facets().scopes;
  if (scopes_ != nullptr) scopes_->SweepScopes();
}

void Namespaces::EndTerm() {
  const MutexLock lock(mutex_);
  scopes_ = nullptr;
}

void Namespaces::Refuse(const std::string& reason) {
  const MutexLock lock(mutex_);
  refusal_ = reason;
}

std::optional<Scope> Namespaces::Find(const std::string& name, const Key& asker) {
  const MutexLock lock(mutex_);
  const auto found = namespaces_.find(name);
  if (found == namespaces_.end() && !refusal_.empty())
    throw PlanError(PlanError::Kind::kRetry, "namespaces cannot be read: " + refusal_);
  if (found == namespaces_.end()) {
    askers_.Add(name, asker);
    return std::nullopt;
  }
  try {
    return Scope{.id = found->second.uid,
                 .security_groups = SecurityGroupsIn(found->second.groups)};
  } catch (const PlanError& e) {
    askers_.Add(name, asker);
    throw PlanError(e.kind(), "namespace " + name + ", " + e.what());
  }
}

/// An empty list means that namespaces cannot be read: a cluster always has some.
bool Namespaces::Has(const std::string& uid) const {
  const MutexLock lock(mutex_);
  return namespaces_.empty() ||
         std::any_of(namespaces_.begin(), namespaces_.end(),
                     [&](const auto& entry) { return entry.second.uid == uid; });
}

std::string Namespaces::UidOf(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto found = namespaces_.find(name);
  return found == namespaces_.end() ? "" : found->second.uid;
}

/// A namespace that was deleted and created again has another UID.
void Namespaces::OnPresent(const watcher::WatchEvent& event) {
  const std::string groups =
      StringAt(event.object->value("/metadata/annotations"_json_pointer, nlohmann::json()),
               kSecurityGroupsAnnotation)
          .substr(0, kMostText);
  std::set<Key> askers;
  {
    const MutexLock lock(mutex_);
    refusal_.clear();
    Facts& facts = namespaces_[event.name];
    const bool is_another = !facts.uid.empty() && facts.uid != event.uid;
    facts = {.uid = event.uid, .groups = groups};
    if (is_another && scopes_ != nullptr) scopes_->SweepScopes();
    askers = askers_.Take(event.name);
  }
  for (const Key& asker : askers) wake_(asker);
}

void Namespaces::OnDeleted(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  namespaces_.erase(event.name);
  if (scopes_ != nullptr) scopes_->SweepScopes();
}

}  // namespace kuryr::controller
