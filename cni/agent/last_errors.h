#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/thread_annotations.h"
#include "cni/protocol/error.h"
#include "cni/protocol/request.h"
#include "watcher/event_pipeline.h"

namespace kuryr::cni {

/// The last failure of each pod's calls, for people. They are forgotten with the pod's deletion,
/// and by a success. A DEL's error ends with a DEL's success, others with any other's: the runtime
/// deletes what it could not add before it tries again. Thread-safe.
class LastErrors : public watcher::ResourceEventHandler {
 public:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    Clock::time_point at;
    Command command = Command::kAdd;
    std::string container_id;
    ErrorCode code = ErrorCode::kInternal;
    std::string message;
  };

  LastErrors() : ResourceEventHandler("Pod") {}

  /// Keeps only errors of requests that name a pod, and drops that a pod is gone.
  void Add(const Request& request, const CniError& error) EXCLUDES(mutex_);
  void Forget(const Request& request) EXCLUDES(mutex_);
  /// By pod, NAMESPACE/NAME.
  [[nodiscard]] std::map<std::string, Entry> All() const EXCLUDES(mutex_);

 protected:
  void OnDeleted(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  void Forget(const std::string& pod, bool of_del) EXCLUDES(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, Entry> errors_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
