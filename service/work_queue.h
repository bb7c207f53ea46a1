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
#include <utility>

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

/// Whose turn a key "NAMESPACE/NAME" is: what stands before its first slash.
[[nodiscard]] inline std::string TurnOf(const std::string& key) {
  return key.substr(0, key.find('/'));
}

/// The keys of what has to be looked at. A key waits once, however often it is added, and is at one
/// worker at a time. A key that is added while it is at work waits again after Done. Ready keys of
/// one TurnOf leave in the order in which they became ready, and the turns alternate. An idle key
/// takes no memory. Thread-safe. (client-go's workqueue)
template <typename Key>
class BasicWorkQueue {
 public:
  using Clock = std::chrono::steady_clock;

  struct Item {
    Key key;
    Clock::duration waited;  ///< since it was ready
  };

  explicit BasicWorkQueue(QueueOptions options = {}) : options_(std::move(options)) {}
  BasicWorkQueue(const BasicWorkQueue&) = delete;
  BasicWorkQueue& operator=(const BasicWorkQueue&) = delete;

  /// Ready at once, unless a delay of it is held.
  void Add(const Key& key) EXCLUDES(mutex_) { AddAfter(key, {}); }
  /// Ready after `delay`, or earlier where it was wanted earlier.
  void AddAfter(const Key& key, Clock::duration delay, Hold hold = Hold::kUntilNews)
      EXCLUDES(mutex_);
  /// Ready after a delay that grows from one retry to the next. A round that news began before the
  /// retry's time keeps that time.
  void AddRateLimited(const Key& key) EXCLUDES(mutex_);
  /// The next AddRateLimited begins with the shortest delay. So it does after a round that asked
  /// for none.
  void Forget(const Key& key) EXCLUDES(mutex_);

  /// Waits for the next key; nothing after ShutDown. Each key is to be handed back to Done.
  [[nodiscard]] std::optional<Item> Get() EXCLUDES(mutex_);
  void Done(const Key& key) EXCLUDES(mutex_);

  /// For good: what waits is dropped, and what comes is ignored.
  void ShutDown() noexcept EXCLUDES(mutex_);
  [[nodiscard]] bool is_shut_down() EXCLUDES(mutex_);

  [[nodiscard]] QueueMetrics metrics() EXCLUDES(mutex_);

 private:
  struct Entry;
  using Entries = std::unordered_map<Key, Entry>;
  using Keyed = typename Entries::value_type;
  using Delayed = std::multimap<Clock::time_point, Keyed*>;
  enum class Place { kNowhere, kReady, kDelayed, kAtWork };
  struct Entry {
    [[nodiscard]] Clock::time_point due() const { return std::max(*wanted, not_before); }

    Place place = Place::kNowhere;
    bool rate_limited = false;                ///< since it was handed out
    std::optional<Clock::time_point> wanted;  ///< none while at work: no further round
    Clock::time_point not_before;             ///< what is held
    typename Delayed::iterator delayed;       ///< of Place::kDelayed
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
  TurnQueue<std::string, Keyed*> ready_ GUARDED_BY(mutex_);  ///< by TurnOf
  Delayed delayed_ GUARDED_BY(mutex_);
  QueueMetrics counted_ GUARDED_BY(mutex_);  ///< without what is counted on request
  bool shut_down_ GUARDED_BY(mutex_) = false;
};

template <typename Key>
void BasicWorkQueue<Key>::AddAfter(const Key& key, Clock::duration delay, Hold hold) {
  const MutexLock lock(mutex_);
  if (shut_down_) return;
  if (hold == Hold::kFirmly) ++counted_.retries;
  Want(*entries_.try_emplace(key).first, delay, hold);
}

template <typename Key>
void BasicWorkQueue<Key>::AddRateLimited(const Key& key) {
  const MutexLock lock(mutex_);
  if (shut_down_) return;
  ++counted_.retries;
  Keyed& keyed = *entries_.try_emplace(key).first;
  Entry& entry = keyed.second;
  entry.rate_limited = true;
  if (!entry.backoff) {
    entry.backoff = std::make_unique<Backoff>(options_.retry_base, options_.retry_cap);
    entry.retry_at = {};
  }
  const auto now = options_.now();
  if (entry.retry_at <= now) entry.retry_at = now + entry.backoff->Next();
  Want(keyed, entry.retry_at - now, Hold::kUntilNews);
}

template <typename Key>
void BasicWorkQueue<Key>::Forget(const Key& key) {
  const MutexLock lock(mutex_);
  if (const auto keyed = entries_.find(key); keyed != entries_.end()) keyed->second.backoff.reset();
}

template <typename Key>
void BasicWorkQueue<Key>::Want(Keyed& keyed, Clock::duration delay, Hold hold) {
  const auto now = options_.now();
  MoveDue(now);
  Entry& entry = keyed.second;
  const auto at = now + delay;
  entry.wanted = std::min(entry.wanted.value_or(at), at);
  if (hold == Hold::kFirmly) entry.not_before = std::max(entry.not_before, at);
  const bool keeps_its_turn = entry.place == Place::kReady && entry.due() <= now;
  const bool keeps_its_delay =
      entry.place == Place::kDelayed && entry.delayed->first == entry.due();
  if (entry.place == Place::kAtWork || keeps_its_turn || keeps_its_delay) return;
  TakeOut(keyed);
  Put(keyed, now);
}

template <typename Key>
void BasicWorkQueue<Key>::TakeOut(Keyed& keyed) {
  Entry& entry = keyed.second;
  if (entry.place == Place::kDelayed) delayed_.erase(entry.delayed);
  if (entry.place == Place::kReady) ready_.Remove(TurnOf(keyed.first), &keyed);
  entry.place = Place::kNowhere;
}

template <typename Key>
void BasicWorkQueue<Key>::Put(Keyed& keyed, Clock::time_point now) {
  Entry& entry = keyed.second;
  if (entry.due() <= now) {
    MakeReady(keyed);
  } else {
    entry.place = Place::kDelayed;
    entry.delayed = delayed_.emplace(entry.due(), &keyed);
    // A worker that waits wakes up for the first delay anyway.
    if (entry.delayed != delayed_.begin()) return;
  }
  changed_.notify_one();
}

template <typename Key>
void BasicWorkQueue<Key>::MakeReady(Keyed& keyed) {
  keyed.second.place = Place::kReady;
  ready_.Push(TurnOf(keyed.first), &keyed);
}

template <typename Key>
void BasicWorkQueue<Key>::MoveDue(Clock::time_point now) {
  for (auto first = delayed_.begin(); first != delayed_.end() && first->first <= now;
       first = delayed_.erase(first))
    MakeReady(*first->second);
}

template <typename Key>
auto BasicWorkQueue<Key>::Get() -> std::optional<Item> {
  const MutexLock lock(mutex_);
  while (!shut_down_) {
    const auto now = options_.now();
    MoveDue(now);
    if (!ready_.empty()) return HandOut(*ready_.Pop(), now);
    if (delayed_.empty()) {
      changed_.wait(mutex_);
    } else {
      changed_.wait_for(mutex_, delayed_.begin()->first - now);
    }
  }
  return std::nullopt;
}

template <typename Key>
auto BasicWorkQueue<Key>::HandOut(Keyed& keyed, Clock::time_point now) -> Item {
  Entry& entry = keyed.second;
  Item item = {.key = keyed.first, .waited = now - entry.due()};
  entry.place = Place::kAtWork;
  entry.rate_limited = false;
  entry.wanted.reset();
  entry.not_before = {};
  ++counted_.at_work;
  counted_.waited.Observe(item.waited);
  // The one that leaves may be the only one that was woken for what comes next.
  if (!ready_.empty() || !delayed_.empty()) changed_.notify_one();
  return item;
}

template <typename Key>
void BasicWorkQueue<Key>::Done(const Key& key) {
  const MutexLock lock(mutex_);
  const auto keyed = entries_.find(key);
  if (keyed == entries_.end() || keyed->second.place != Place::kAtWork) return;
  Entry& entry = keyed->second;
  --counted_.at_work;
  ++counted_.rounds;
  if (!entry.rate_limited) entry.backoff.reset();
  if (!entry.wanted) {
    entries_.erase(keyed);
    return;
  }
  const auto now = options_.now();
  MoveDue(now);
  // A key that was added during the round waits from the round's end on.
  entry.wanted = std::max(*entry.wanted, now);
  Put(*keyed, now);
}

template <typename Key>
void BasicWorkQueue<Key>::ShutDown() noexcept {
  {
    const MutexLock lock(mutex_);
    shut_down_ = true;
  }
  changed_.notify_all();
}

template <typename Key>
bool BasicWorkQueue<Key>::is_shut_down() {
  const MutexLock lock(mutex_);
  return shut_down_;
}

template <typename Key>
QueueMetrics BasicWorkQueue<Key>::metrics() {
  const MutexLock lock(mutex_);
  const auto now = options_.now();
  MoveDue(now);
  QueueMetrics metrics = counted_;
  metrics.ready = ready_.size();
  metrics.delayed = delayed_.size();
  ready_.ForEachFirst([&](const Keyed* keyed) {
    metrics.oldest = std::max(metrics.oldest, now - keyed->second.due());
  });
  return metrics;
}

extern template class BasicWorkQueue<std::string>;
using WorkQueue = BasicWorkQueue<std::string>;  ///< of keys "NAMESPACE/NAME"

}  // namespace kuryr::service
