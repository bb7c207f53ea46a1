#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/thread_annotations.h"
#include "controller/backends/facets.h"
#include "policy/policy_member.h"

namespace kuryr::controller::pools {

/// Tells which policies select pods of flat pools. Nodes enforce policies on pods of routed pools
/// alone: a flat pool's packets pass no node. Thread-safe.
class FlatPolicies final : public PolicyEnforcer {
 public:
  /// Called with a policy's name when FindRefusal may have another answer. Must not call this.
  using Wake = std::function<void(const std::string& policy)>;

  explicit FlatPolicies(Wake wake) : wake_(std::move(wake)) {}

  /// The pod's interface eth0 is in the flat pool from now on.
  void Set(const std::string& pod_id, const std::string& pool) EXCLUDES(mutex_);
  /// Its interface eth0 is gone, or is in a routed pool.
  void Remove(const std::string& pod_id) EXCLUDES(mutex_);

  void Enforce(const policy::PolicyChanges& changes) override EXCLUDES(mutex_);
  [[nodiscard]] std::optional<std::string> FindRefusal(const std::string& name) const override
      EXCLUDES(mutex_);
  [[nodiscard]] std::optional<std::string> WhyNoneHolds(const std::string& pod_id) const override
      EXCLUDES(mutex_);

 private:
  using Names = std::set<std::string>;

  /// Wakes the policies whose subjects are among the sets.
  void WakeOf(const Names& sets) REQUIRES(mutex_);
  void Forget(const std::string& pod_id) REQUIRES(mutex_);

  const Wake wake_;
  mutable Mutex mutex_;
  std::map<std::string, std::string> subjects_ GUARDED_BY(mutex_);  ///< by the policy's name
  policy::MemberSets sets_ GUARDED_BY(mutex_);                      ///< of all pods
  std::map<std::string, std::string> flat_ GUARDED_BY(mutex_);      ///< pools, by the pod's id
  std::map<std::string, Names> flat_in_ GUARDED_BY(mutex_);         ///< their ids, by set
};

}  // namespace kuryr::controller::pools
