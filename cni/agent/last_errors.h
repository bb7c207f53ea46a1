#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "base/thread_annotations.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {

/// The last failure of each pod's calls, for people; a success forgets it. Thread-safe.
class LastErrors {
 public:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    Clock::time_point at;
    ErrorCode code;
    std::string message;
  };

  /// `pod` is NAMESPACE/NAME.
  void Add(const std::string& pod, const CniError& error) EXCLUDES(mutex_);
  void Forget(const std::string& pod) EXCLUDES(mutex_);
  /// By pod.
  [[nodiscard]] std::map<std::string, Entry> All() const EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::map<std::string, Entry> errors_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
