#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/thread_annotations.h"
#include "watcher/event_pipeline.h"

namespace kuryr::controller {

/// The cluster's NetworkPolicies. Each one wakes its key when it comes, and at each change if a
/// backend enforces it. An Event then tells its user the part that is not enforced. Thread-safe.
class NetworkPolicies : public watcher::ResourceEventHandler {
 public:
  using Wake = std::function<void(const std::string& key)>;

  NetworkPolicies(bool is_enforced, Wake wake)
      : ResourceEventHandler("NetworkPolicy"), is_enforced_(is_enforced), wake_(std::move(wake)) {}

  /// Wakes the keys of all policies that are known, and of later ones.
  void StartTelling() EXCLUDES(mutex_);

  struct Policy {
    std::string name_space;
    std::string name;
    std::string uid;
  };
  /// The policy of this key; nullopt: it does not exist.
  [[nodiscard]] std::optional<Policy> Find(const std::string& key) const EXCLUDES(mutex_);
  [[nodiscard]] size_t size() const EXCLUDES(mutex_);

 protected:
  void OnPresent(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  void OnDeleted(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  const bool is_enforced_;
  const Wake wake_;
  mutable Mutex mutex_;
  std::map<std::string, Policy> policies_ GUARDED_BY(mutex_);  ///< by key
};

/// The key of the policy NAMESPACE/NAME.
[[nodiscard]] std::string PolicyKeyOf(const std::string& name);
/// Whether the key is a policy's. No pod's key begins so, and no node's.
[[nodiscard]] bool IsPolicyKey(const std::string& key);

}  // namespace kuryr::controller
