#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/cluster/askers.h"
#include "controller/kinds/watched_kind.h"

namespace kuryr::controller {

/// The UIDs of the cluster's namespaces, and the security groups of their pods. Watched if the
/// backend asks for scopes. Thread-safe.
class Namespaces : public WatchedResource {
 public:
  /// Wakes a pod that asked in vain, once the answer may differ.
  explicit Namespaces(const KindParts& parts)
      : WatchedResource("Namespace"), needs_(parts.needs), wake_(parts.wake) {}

  [[nodiscard]] std::vector<WatchedPath> Paths() override;
  /// Tells the backend of each namespace that ends.
  void BeginTerm(const Term& term) override EXCLUDES(mutex_);
  void EndTerm() override EXCLUDES(mutex_);
  /// Namespaces cannot be read; Find answers kRetry with `reason`.
  void Refuse(const std::string& reason) EXCLUDES(mutex_);

  /// The namespace as a scope. nullopt if it is not known yet; then `asker` is remembered.
  /// PlanError kRefused if its annotation is malformed, kRetry if namespaces cannot be read.
  [[nodiscard]] std::optional<Scope> Find(const std::string& name, const Key& asker)
      EXCLUDES(mutex_);
  [[nodiscard]] bool Has(const std::string& uid) const EXCLUDES(mutex_);
  /// Empty: there is none of this name, as far as is known.
  [[nodiscard]] std::string UidOf(const std::string& name) const EXCLUDES(mutex_);

 protected:
  void OnPresent(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  void OnDeleted(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  struct Facts {
    std::string uid;
    std::string groups;  ///< the annotation
  };

  const BackendNeeds needs_;
  const Wake wake_;
  mutable Mutex mutex_;
  ScopeUser* scopes_ GUARDED_BY(mutex_) = nullptr;  ///< null: no leader here, or none that sweeps
  std::map<std::string, Facts> namespaces_ GUARDED_BY(mutex_);  ///< by name
  std::string refusal_ GUARDED_BY(mutex_);
  Askers askers_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
