#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/backoff.h"
#include "base/thread_annotations.h"
#include "base/turn_queue.h"
#include "service/histogram.h"

namespace kuryr::service {

/// Whether news of a key end a delay of it.
enum class Hold {
  kUntilNews,  ///< an Add makes it ready at once
  kFirmly,     ///< a server asked for the delay (Retry-After): not before, whatever comes
};

struct QueueOptions {
  std::chrono::milliseconds retry_base{200};    ///< Backoff
  std::chrono::milliseconds retry_cap{60'000};  ///< Backoff
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// The state and the counts of a queue at one moment.
struct QueueMetrics {
  size_t ready = 0;    ///< keys that wait for a worker
  size_t delayed = 0;  ///< keys that wait for their time
  size_t at_work = 0;
  std::chrono::steady_clock::duration oldest{};  ///< how long the first of the ready has waited
  uint64_t rounds = 0;                           ///< finished
  uint64_t retries = 0;                          ///< AddRateLimited, and held delays
  Histogram waited;                              ///< of each round, from ready to at work
};

/// The keys ("NAMESPACE/NAME") of what has to be looked at. A key waits once, however often it is
/// added, and is at one worker at a time. A key that is added while it is at work waits again after
/// Done. The namespaces of ready keys take turns, each with its keys in the order in which they
/// became ready. An idle key takes no memory. Thread-safe. (client-go's workqueue)
class WorkQueue {
 public:
  using Clock = std::chrono::steady_clock;

  struct Item {
    std::string key;
    Clock::duration waited;  ///< since it was ready
  };

  explicit WorkQueue(QueueOptions options = {}) : options_(std::move(options)) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  /// Ready at once, unless a delay of it is held.
  void Add(const std::string& key) EXCLUDES(mutex_) { AddAfter(key, {}); }
  /// Ready after `delay`, or earlier where it was wanted earlier.
  void AddAfter(const std::string& key, Clock::duration delay, Hold hold = Hold::kUntilNews)
      EXCLUDES(mutex_);
  /// Ready after a delay that grows from one retry to the next. A round that news began before the
  /// retry's time keeps that time.
  void AddRateLimited(const std::string& key) EXCLUDES(mutex_);
  /// The next AddRateLimited begins with the shortest delay. So it does after a round that asked
  /// for none.
  void Forget(const std::string& key) EXCLUDES(mutex_);

  /// Waits for the next key; nothing after ShutDown. Each key is to be handed back to Done.
  [[nodiscard]] std::optional<Item> Get() EXCLUDES(mutex_);
  void Done(const std::string& key) EXCLUDES(mutex_);

  /// For good: what waits is dropped, and what comes is ignored.
  void ShutDown() noexcept EXCLUDES(mutex_);
  [[nodiscard]] bool is_shut_down() EXCLUDES(mutex_);

  [[nodiscard]] QueueMetrics metrics() EXCLUDES(mutex_);

 private:
  struct Entry;
  using Entries = std::unordered_map<std::string, Entry>;
  using Keyed = Entries::value_type;
  using Delayed = std::multimap<Clock::time_point, Keyed*>;
  enum class Place { kNowhere, kReady, kDelayed, kAtWork };
  struct Entry {
    [[nodiscard]] Clock::time_point due() const { return std::max(*wanted, not_before); }

    Place place = Place::kNowhere;
    bool rate_limited = false;                ///< since it was handed out
    std::optional<Clock::time_point> wanted;  ///< none while at work: no further round
    Clock::time_point not_before;             ///< what is held
    Delayed::iterator delayed;                ///< of Place::kDelayed
    std::unique_ptr<Backoff> backoff;         ///< of a key that has failed
    Clock::time_point retry_at;               ///< the last one that `backoff` gave
  };

  void Want(Keyed& keyed, Clock::duration delay, Hold hold) REQUIRES(mutex_);
  /// Into the place that its times ask for.
  void Put(Keyed& keyed, Clock::time_point now) REQUIRES(mutex_);
  void TakeOut(Keyed& keyed) REQUIRES(mutex_);
  void MakeReady(Keyed& keyed) REQUIRES(mutex_);
  /// The delayed whose time has come become ready.
  void MoveDue(Clock::time_point now) REQUIRES(mutex_);
  [[nodiscard]] Item HandOut(Keyed& keyed, Clock::time_point now) REQUIRES(mutex_);

  const QueueOptions options_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  Entries entries_ GUARDED_BY(mutex_);
  TurnQueue<std::string, Keyed*> ready_ GUARDED_BY(mutex_);  ///< by namespace
  Delayed delayed_ GUARDED_BY(mutex_);
  QueueMetrics counted_ GUARDED_BY(mutex_);  ///< without what is counted on request
  bool shut_down_ GUARDED_BY(mutex_) = false;
};

}  // namespace kuryr::service
