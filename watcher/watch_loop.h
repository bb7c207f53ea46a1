#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "base/thread_annotations.h"
#include "watcher/api_client.h"
#include "watcher/dispatcher.h"
#include "watcher/reconnect_delay.h"
#include "watcher/watch_metrics.h"
#include "watcher/watch_stream.h"

namespace kuryr::watcher {

/// Called for every failed try, in the loop's thread: ApiError, ApiUnavailable or ApiUntrusted. It
/// is called for a version that is gone only if a list has not repaired it. A refusal (401, 403,
/// untrusted) comes as ApiUnavailable until it has lasted. The loop continues.
using FailureHandler = std::function<void(const std::exception_ptr& failure)>;

/// Keeps one watch open; ReconnectDelay says when to open it again. One thread calls Run, any
/// thread RequestStop and metrics.
class WatchLoop {
 public:
  /// The watched path, and the receiver of its events.
  struct Watched {
    std::string path;  ///< without watch=true:
                       ///< "/api/v1/namespaces/default/pods?fieldSelector=metadata.name=nginx"
    WatchMode mode = WatchMode::kPresentState;
    WatchOptions options;
  };

  WatchLoop(Watched watched, const ApiConfig& config, EventHandler& handler,
            FailureHandler on_failure);

  void Run() EXCLUDES(mutex_);
  void RequestStop() noexcept EXCLUDES(mutex_);
  /// Asks again for an absent resource, because the server may have it now: at once, or
  /// ReconnectDelay::kLeastAbsent after the last try.
  void AskForAbsent() EXCLUDES(mutex_);
  /// As Watcher::CatchUp; replaces an unfinished call.
  void CatchUp(std::function<void()> done) EXCLUDES(mutex_);

  [[nodiscard]] const std::string& path() const noexcept { return stream_.path(); }
  [[nodiscard]] bool stopped() const { return client_.stopped(); }
  [[nodiscard]] WatchMetrics metrics() const { return metrics_.Read(); }

 private:
  [[nodiscard]] WatchTry TryOnce();
  [[nodiscard]] ReconnectReason Watch(std::optional<std::chrono::seconds>& retry_after);
  void Report(const std::exception_ptr& failure) const;
  /// Reports the current exception if refusals have lasted, and otherwise ApiUnavailable. Reports a
  /// first refusal only with `at_once`.
  void ReportRefusal(const std::exception& refusal, bool at_once);
  void Count(ReconnectReason reason);
  /// Takes a call of CatchUp: true if this try must catch up.
  [[nodiscard]] bool TakeCall() EXCLUDES(mutex_);
  /// Answers the taken call, unless CatchUp was called again meanwhile.
  void AnswerCall() EXCLUDES(mutex_);
  /// Waits for `delay`, or until CatchUp is called. False when the loop must stop.
  [[nodiscard]] bool WaitFor(std::chrono::milliseconds delay) EXCLUDES(mutex_);
  /// As WaitFor, but AskForAbsent can shorten the wait.
  [[nodiscard]] bool WaitWhileAbsent(std::chrono::milliseconds delay) EXCLUDES(mutex_);

  const FailureHandler on_failure_;
  ApiClient client_;
  SharedMetrics metrics_;
  WatchStream stream_;
  ReconnectDelay delay_;
  Refusals refusals_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool asked_ GUARDED_BY(mutex_) = false;               ///< AskForAbsent, and not done yet
  bool called_ GUARDED_BY(mutex_) = false;              ///< CatchUp, and not taken yet
  std::function<void()> caught_up_ GUARDED_BY(mutex_);  ///< to be called when that is done
};

}  // namespace kuryr::watcher
