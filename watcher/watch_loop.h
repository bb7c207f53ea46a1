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
#include "watcher/refusals.h"
#include "watcher/watch_metrics.h"
#include "watcher/watch_stream.h"

namespace kuryr::watcher {

/// Told of every try that failed, in the loop's thread: ApiError, ApiUnavailable or ApiUntrusted;
/// of a version that is gone, when a list has not mended it. A refusal (401, 403, untrusted) is
/// told as ApiUnavailable until it has lasted. The loop goes on.
using FailureHandler = std::function<void(const std::exception_ptr& failure)>;

/// Keeps one watch open; ReconnectDelay says when it is opened again. Run belongs to one thread,
/// RequestStop and metrics to any.
class WatchLoop {
 public:
  /// What is watched, and for whom.
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
  /// The server may have the resource now: one that was absent is asked for again at once, or
  /// ReconnectDelay::kLeastAbsent after it was last.
  void AskForAbsent() EXCLUDES(mutex_);
  /// As Watcher::CatchUp; in place of one that is not done yet.
  void CatchUp(std::function<void()> done) EXCLUDES(mutex_);

  [[nodiscard]] const std::string& path() const noexcept { return stream_.path(); }
  [[nodiscard]] bool stopped() const { return client_.stopped(); }
  [[nodiscard]] WatchMetrics metrics() const { return metrics_.Read(); }

 private:
  [[nodiscard]] WatchTry TryOnce();
  [[nodiscard]] ReconnectReason Watch(std::optional<std::chrono::seconds>& retry_after);
  void Report(const std::exception_ptr& failure) const;
  /// The exception at hand, or that it makes the server unavailable while it has not lasted; of the
  /// first that only `at_once`.
  void ReportRefusal(const std::exception& refusal, bool at_once);
  void Count(ReconnectReason reason);
  /// The try at hand is to catch up.
  [[nodiscard]] bool TakeCall() EXCLUDES(mutex_);
  /// It has, unless it was called again meanwhile.
  void AnswerCall() EXCLUDES(mutex_);
  /// False when the loop shall stop; at once when it was called.
  [[nodiscard]] bool WaitFor(std::chrono::milliseconds delay) EXCLUDES(mutex_);
  /// As WaitFor, or as long as AskForAbsent leaves of it.
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
