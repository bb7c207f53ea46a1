#include "service/work_queue.h"

#include <utility>

namespace kuryr::service {
namespace {

/// What stands before the first slash of a key.
std::string NamespaceIn(const std::string& key) { return key.substr(0, key.find('/')); }

}  // namespace

void WorkQueue::AddAfter(const std::string& key, Clock::duration delay, Hold hold) {
  const MutexLock lock(mutex_);
  if (shut_down_) return;
  if (hold == Hold::kFirmly) ++counted_.retries;
  Want(*entries_.try_emplace(key).first, delay, hold);
}

void WorkQueue::AddRateLimited(const std::string& key) {
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

void WorkQueue::Forget(const std::string& key) {
  const MutexLock lock(mutex_);
  if (const auto keyed = entries_.find(key); keyed != entries_.end()) keyed->second.backoff.reset();
}

void WorkQueue::Want(Keyed& keyed, Clock::duration delay, Hold hold) {
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

void WorkQueue::TakeOut(Keyed& keyed) {
  Entry& entry = keyed.second;
  if (entry.place == Place::kDelayed) delayed_.erase(entry.delayed);
  if (entry.place == Place::kReady) ready_.Remove(NamespaceIn(keyed.first), &keyed);
  entry.place = Place::kNowhere;
}

void WorkQueue::Put(Keyed& keyed, Clock::time_point now) {
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

void WorkQueue::MakeReady(Keyed& keyed) {
  keyed.second.place = Place::kReady;
  ready_.Push(NamespaceIn(keyed.first), &keyed);
}

void WorkQueue::MoveDue(Clock::time_point now) {
  for (auto first = delayed_.begin(); first != delayed_.end() && first->first <= now;
       first = delayed_.erase(first))
    MakeReady(*first->second);
}

std::optional<WorkQueue::Item> WorkQueue::Get() {
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

WorkQueue::Item WorkQueue::HandOut(Keyed& keyed, Clock::time_point now) {
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

void WorkQueue::Done(const std::string& key) {
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

void WorkQueue::ShutDown() noexcept {
  {
    const MutexLock lock(mutex_);
    shut_down_ = true;
  }
  changed_.notify_all();
}

bool WorkQueue::is_shut_down() {
  const MutexLock lock(mutex_);
  return shut_down_;
}

QueueMetrics WorkQueue::metrics() {
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

}  // namespace kuryr::service
