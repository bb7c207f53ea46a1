#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/thread_annotations.h"
#include "watcher/dispatcher.h"
#include "watcher/event_pipeline.h"

namespace kuryr::watcher {

/// What a handler throws whose object lacks something that will come: try again later.
/// (kuryr_kubernetes/exceptions.py)
class ResourceNotReady : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct AsyncOptions {
  size_t workers = 4;
  size_t max_pending = 4096;                    ///< events; Handle waits while there are more
  std::chrono::milliseconds retry_base{500};    ///< Backoff
  std::chrono::milliseconds retry_cap{30'000};  ///< Backoff
  std::chrono::milliseconds give_up{
      180'000};  ///< an event that was not ready for so long is dropped
};

/// Hands events to the next handler from threads of its own: one object's in their order, one at a
/// time; several objects' side by side. Of an object that waits, a MODIFIED event replaces the
/// state of the event before it, so that an object's queue stays short whatever its producer does.
/// An event that is not ready waits without keeping a thread, until a newer state or a DELETED
/// overtakes it. What else the handler throws is logged and counted. Thread-safe, but not callable
/// from its own handler. (client-go's workqueue; Kuryr's Async and Retry)
class AsyncHandler : public EventHandler {
 public:
  /// `next` is borrowed, called from several threads.
  explicit AsyncHandler(EventHandler& next, AsyncOptions options = {});
  AsyncHandler(const AsyncHandler&) = delete;
  AsyncHandler& operator=(const AsyncHandler&) = delete;
  ~AsyncHandler() override;

  void Handle(const WatchEvent& event) override EXCLUDES(mutex_);

  /// Drops what waits and lets a Handle that waits return. What is being handled is finished.
  void RequestStop() noexcept EXCLUDES(mutex_);
  /// Returns when everything handed in so far has been handled or dropped, or after RequestStop.
  void Drain() EXCLUDES(mutex_);

  [[nodiscard]] size_t pending() const EXCLUDES(mutex_);
  [[nodiscard]] uint64_t errors() const EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;
  using Key = std::string;
  struct Queue {
    explicit Queue(const AsyncOptions& options) : backoff(options.retry_base, options.retry_cap) {}

    std::deque<WatchEvent> events;  ///< the first is at work when busy
    bool busy = false;
    std::optional<Clock::time_point> due;  ///< where it stands in the schedule; none while busy
    std::optional<Clock::time_point> not_ready_since;
    Backoff backoff;
  };
  using Queues = std::map<Key, Queue>;

  void Work() EXCLUDES(mutex_);
  /// The object whose turn it is; waits for one. The end when stopping.
  [[nodiscard]] Queues::iterator NextDue() REQUIRES(mutex_);
  /// True when the event is done with, in one way or the other.
  [[nodiscard]] bool TryHandle(const WatchEvent& event, std::string& not_ready) EXCLUDES(mutex_);
  /// When to try the first event again, or the next one.
  [[nodiscard]] Clock::time_point Postpone(Queue& queue, const std::string& why) REQUIRES(mutex_);
  void PopFront(Queue& queue) REQUIRES(mutex_);
  void Schedule(Queues::iterator queue, Clock::time_point due) REQUIRES(mutex_);

  EventHandler& next_;
  const AsyncOptions options_;
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  Queues queues_ GUARDED_BY(mutex_);
  std::set<std::pair<Clock::time_point, Key>> schedule_ GUARDED_BY(mutex_);  ///< one per object
  size_t pending_ GUARDED_BY(mutex_) = 0;
  uint64_t errors_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> workers_;
};

/// A pipeline that puts an AsyncHandler before each of its consumers.
class AsyncPipeline : public EventPipeline {
 public:
  explicit AsyncPipeline(AsyncOptions options = {}) : options_(options) {}

 protected:
  [[nodiscard]] std::unique_ptr<EventHandler> Wrap(EventConsumer& consumer) override {
    return std::make_unique<AsyncHandler>(consumer, options_);
  }

 private:
  const AsyncOptions options_;
};

}  // namespace kuryr::watcher
