#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/thread_annotations.h"

namespace kuryr::cni {

/// A metric's counts, by the value of one label and by outcome. Thread-safe.
class OutcomeCounter {
 public:
  void Add(const std::string& value, const std::string& outcome) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ++counts_[{value, outcome}];
  }
  /// Calls `take` with value, outcome and count of each.
  template <typename Take>
  void ForEach(const Take& take) const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    for (const auto& [key, count] : counts_)
      take(key.first, key.second, static_cast<double>(count));
  }

 private:
  mutable Mutex mutex_;
  std::map<std::pair<std::string, std::string>, uint64_t> counts_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
