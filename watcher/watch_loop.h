#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <string>

#include "base/thread_annotations.h"
#include "watcher/api_client.h"
#include "watcher/backoff.h"
#include "watcher/dispatcher.h"

namespace kuryr::watcher {

/// Told of every try that failed, in the loop's thread: ApiError, ApiUnavailable or ApiUntrusted.
/// The loop goes on.
using FailureHandler = std::function<void(const std::exception_ptr& failure)>;

/// Keeps one watch open: without resourceVersion, so that the present state comes first as ADDED,
/// at every connection. A stream that ended in order is opened again at once, one that failed after
/// a backoff that only a useful event resets. One bad line or object, and what a handler throws, is
/// logged and skipped. Run belongs to one thread, RequestStop to any.
class WatchLoop {
 public:
  /// `path` without watch=true:
  /// "/api/v1/namespaces/default/pods?fieldSelector=metadata.name=nginx".
  WatchLoop(std::string path, const ApiConfig& config, EventHandler& handler,
            FailureHandler on_failure);

  void Run() EXCLUDES(mutex_);
  void RequestStop() noexcept EXCLUDES(mutex_);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  enum class End { kInOrder, kFailed };

  [[nodiscard]] End WatchOnce();
  void TakeLine(std::string_view line);
  [[nodiscard]] std::chrono::milliseconds DelayAfter(End end,
                                                     std::chrono::steady_clock::duration lasted);
  /// False when the loop shall stop.
  [[nodiscard]] bool WaitFor(std::chrono::milliseconds delay) EXCLUDES(mutex_);

  const std::string path_;
  EventHandler& handler_;
  const FailureHandler on_failure_;
  ApiClient client_;
  Backoff backoff_;
  bool unauthorized_ = false;  ///< the last try, too

  Mutex mutex_;
  std::condition_variable_any changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace kuryr::watcher
