#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "base/thread_annotations.h"
#include "watcher/api_config.h"
#include "watcher/watch_loop.h"

namespace kuryr::watcher {

/// Watches any number of paths, each in its own thread, and passes every event to one handler. With
/// several paths the handler must be thread-safe. Thread-safe itself. (kuryr_kubernetes/watcher.py)
class Watcher {
 public:
  /// `handler` is borrowed and outlives the watcher.
  Watcher(ApiConfig config, EventHandler& handler, FailureHandler on_failure = {});
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() { Stop(); }

  /// Watches `path` ("/api/v1/pods?fieldSelector=..."): at once when started, else from Start() on.
  void Add(const std::string& path, WatchMode mode = WatchMode::kPresentState,
           WatchOptions options = {}) EXCLUDES(mutex_);
  /// Ends the watch of `path`. A handler that has an event at that moment finishes it. Callable
  /// from a handler.
  void Remove(const std::string& path) EXCLUDES(mutex_);
  /// Asks soon for the resources that a kOptionalSet did not find, because the server may have them
  /// now. Callable from a handler.
  void AskForAbsent() EXCLUDES(mutex_);

  /// Brings every set at least to the server's present state, once the watcher is started. Then
  /// logs how long that took and which path came last, and calls `done` once, in a watch's thread.
  /// A later call replaces an unfinished one. Callable from a handler.
  void CatchUp(const std::function<void()>& done) EXCLUDES(mutex_);

  void Start() EXCLUDES(mutex_);
  /// Ends every watch, without waiting for it. Callable from a handler.
  void RequestStop() noexcept EXCLUDES(mutex_);
  /// Ends every watch and waits for their threads: no handler is called after it. Not callable from
  /// a handler.
  void Stop() EXCLUDES(mutex_);

  /// False when a watch has only failed for longer than ApiConfig::retry_timeout.
  [[nodiscard]] bool IsAlive() const EXCLUDES(mutex_);
  /// The metrics of the watches that were not removed, by path.
  [[nodiscard]] std::map<std::string, WatchMetrics> Metrics() const EXCLUDES(mutex_);

 private:
  struct Watch {
    Watch(WatchLoop::Watched watched, const Watcher& owner)
        : loop(std::move(watched), owner.config_, owner.handler_, owner.on_failure_) {}
    /// Starts the thread, which logs with the caller's fields.
    void Start();

    WatchLoop loop;
    std::atomic<bool> ended = false;
    std::jthread thread;
  };

  const ApiConfig config_;
  EventHandler& handler_;
  const FailureHandler on_failure_;
  mutable Mutex mutex_;
  bool started_ GUARDED_BY(mutex_) = false;
  std::list<Watch> watches_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::watcher
