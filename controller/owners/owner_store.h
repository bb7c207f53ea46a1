#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/kinds/watched_kind.h"

namespace kuryr::controller {

/// Owners with a plan, and owners that wait for one.
struct PlanCounts {
  size_t planned = 0;
  size_t waiting = 0;
};

/// The owners of plans of one kind (pods, nodes), as the watches tell them. A change wakes the
/// owner's key. `Entry` is all that is known under one key. It has `gone`, the UIDs of deleted
/// owners that the backend may still know, and uid(), IsEmpty(), IsPlanned() and IsToBePlanned().
/// Thread-safe.
template <typename Entry>
class OwnerStore : public WatchedKind {
 public:
  using Known = Entry;

  explicit OwnerStore(Wake wake) : wake_(std::move(wake)) {}

  /// Forgets deleted owners: the next backend has never heard of them.
  void EndTerm() final EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    backend_ = nullptr;
    for (auto& [key, known] : known_) known.gone.clear();
    std::erase_if(known_, [](const auto& entry) { return entry.second.IsEmpty(); });
  }

  [[nodiscard]] Known Find(const std::string& key) const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto known = known_.find(key);
    return known == known_.end() ? Known() : known->second;
  }

  /// The backend has released the deleted owner of this UID.
  void ForgetGone(const std::string& key, const std::string& uid) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto known = known_.find(key);
    if (known == known_.end()) return;
    std::erase(known->second.gone, uid);
    if (known->second.IsEmpty()) known_.erase(known);
  }

  [[nodiscard]] size_t size() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return known_.size();
  }

 protected:
  [[nodiscard]] PlanCounts Count() const EXCLUDES(mutex_) {
    PlanCounts counts;
    const MutexLock lock(mutex_);
    for (const auto& [key, known] : known_) {
      if (known.IsPlanned()) {
        ++counts.planned;
      } else if (known.IsToBePlanned()) {
        ++counts.waiting;
      }
    }
    return counts;
  }

  /// Changes what is known under the key. An owner that the change ends is noted as gone if there
  /// is a backend, which may know it.
  template <typename Change>
  void Update(const std::string& key, const Change& change) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Known& known = known_[key];
    const std::string before = known.uid();
    change(known);
    const std::string after = known.uid();
    std::erase(known.gone, after);
    if (backend_ != nullptr && !before.empty() && before != after) known.gone.push_back(before);
    if (known.IsEmpty()) known_.erase(key);
  }

  const Wake wake_;
  mutable Mutex mutex_;
  Backend* backend_ GUARDED_BY(mutex_) = nullptr;  ///< null while this process does not lead
  std::unordered_map<std::string, Known> known_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
