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

/// Longer than any annotation that can be met: what is cut is refused, and not kept.
constexpr size_t kMostText = 1024;

}  // namespace

/// While they cannot be read, nobody knows which have ended.
void Namespaces::StartTelling(Backend& backend) {
  const MutexLock lock(mutex_);
  if (namespaces_.empty()) return;
  scopes_ = backend.facets().scopes;
  if (scopes_ != nullptr) scopes_->SweepScopes();
}

void Namespaces::StopTelling() {
  const MutexLock lock(mutex_);
  scopes_ = nullptr;
}

void Namespaces::Refuse(const std::string& reason) {
  const MutexLock lock(mutex_);
  refusal_ = reason;
}

std::optional<Scope> Namespaces::Find(const std::string& name, const std::string& asker) {
  const MutexLock lock(mutex_);
  const auto found = namespaces_.find(name);
  if (found == namespaces_.end() && !refusal_.empty())
    throw BackendError(BackendError::Kind::kRetry, "namespaces cannot be read: " + refusal_);
  if (found == namespaces_.end()) {
    askers_.Add(name, asker);
    return std::nullopt;
  }
  try {
    return Scope{.id = found->second.uid,
                 .security_groups = SecurityGroupsIn(found->second.groups)};
  } catch (const BackendError& e) {
    askers_.Add(name, asker);
    throw BackendError(e.kind(), "namespace " + name + ", " + e.what());
  }
}

/// None at all is what a server says that is none: there are always some.
bool Namespaces::Has(const std::string& uid) const {
  const MutexLock lock(mutex_);
  return namespaces_.empty() ||
         std::any_of(namespaces_.begin(), namespaces_.end(),
                     [&](const auto& entry) { return entry.second.uid == uid; });
}

/// One that was made anew has another UID.
void Namespaces::OnPresent(const watcher::WatchEvent& event) {
  const std::string groups =
      StringAt(event.object->value("/metadata/annotations"_json_pointer, nlohmann::json()),
               kSecurityGroupsAnnotation)
          .substr(0, kMostText);
  std::set<std::string> askers;
  {
    const MutexLock lock(mutex_);
    refusal_.clear();
    Facts& facts = namespaces_[event.name];
    const bool is_another = !facts.uid.empty() && facts.uid != event.uid;
    facts = {.uid = event.uid, .groups = groups};
    if (is_another && scopes_ != nullptr) scopes_->SweepScopes();
    askers = askers_.Take(event.name);
  }
  for (const std::string& asker : askers) wake_(asker);
}

void Namespaces::OnDeleted(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  namespaces_.erase(event.name);
  if (scopes_ != nullptr) scopes_->SweepScopes();
}

}  // namespace kuryr::controller
