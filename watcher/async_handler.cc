#include "watcher/async_handler.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace kuryr::watcher {
namespace {

bool IsPresent(const WatchEvent& event) {
  return event.type == EventType::kAdded || event.type == EventType::kModified;
}

/// `newer` says all that `older` would have said.
bool Overtakes(const WatchEvent& newer, const WatchEvent& older) {
  return newer.type == EventType::kModified && IsPresent(older) && newer.uid == older.uid;
}

/// The newer state, as the kind of event that nobody has heard yet.
void Merge(WatchEvent& older, WatchEvent newer) {
  newer.type = older.type;
  older = std::move(newer);
}

std::string Named(const WatchEvent& event) { return event.name_space + "/" + event.name; }

}  // namespace

AsyncHandler::AsyncHandler(EventHandler& next, AsyncOptions options)
    : next_(next), options_(options) {
  for (size_t i = 0; i < std::max<size_t>(options_.workers, 1); ++i)
    workers_.emplace_back([this] { Work(); });
}

AsyncHandler::~AsyncHandler() { RequestStop(); }

void AsyncHandler::Handle(const WatchEvent& event) {
  const MutexLock lock(mutex_);
  while (!stopping_ && pending_ >= options_.max_pending) changed_.wait(mutex_);
  if (stopping_) return;
  const auto entry = queues_.try_emplace(event.kind + " " + Named(event), options_).first;
  Queue& queue = entry->second;
  const size_t untouchable = queue.busy ? 1 : 0;
  if (queue.events.size() > untouchable && Overtakes(event, queue.events.back())) {
    Merge(queue.events.back(), event);
  } else {
    queue.events.push_back(event);
    ++pending_;
  }
  // News end the wait of an object that was not ready.
  const auto now = Clock::now();
  if (!queue.busy && (!queue.due || *queue.due > now)) Schedule(entry, now);
}

void AsyncHandler::Schedule(Queues::iterator queue, Clock::time_point due) {
  if (queue->second.due) schedule_.erase({*queue->second.due, queue->first});
  queue->second.due = due;
  schedule_.emplace(due, queue->first);
  changed_.notify_all();
}

AsyncHandler::Queues::iterator AsyncHandler::NextDue() {
  while (!stopping_) {
    if (schedule_.empty()) {
      changed_.wait(mutex_);
      continue;
    }
    const auto first = schedule_.begin();
    if (first->first > Clock::now()) {
      // A copy: the wait reads it without the lock.
      changed_.wait_until(mutex_, Clock::time_point(first->first));
      continue;
    }
    const auto queue = queues_.find(first->second);
    schedule_.erase(first);
    queue->second.due.reset();
    return queue;
  }
  return queues_.end();
}

void AsyncHandler::Work() {
  const MutexLock lock(mutex_);
  for (auto entry = NextDue(); !stopping_; entry = NextDue()) {
    Queue& queue = entry->second;
    queue.busy = true;
    const WatchEvent event = queue.events.front();
    std::string not_ready;
    mutex_.unlock();
    const bool done = TryHandle(event, not_ready);
    mutex_.lock();
    queue.busy = false;
    auto due = Clock::now();
    if (done) {
      PopFront(queue);
    } else {
      due = Postpone(queue, not_ready);
    }
    if (queue.events.empty()) {
      queues_.erase(entry);
    } else {
      Schedule(entry, due);
    }
  }
}

bool AsyncHandler::TryHandle(const WatchEvent& event, std::string& not_ready) {
  try {
    next_.Handle(event);
  } catch (const ResourceNotReady& e) {
    not_ready = e.what();
    return false;
  } catch (const std::exception& e) {
    const MutexLock lock(mutex_);
    ++errors_;
    Log(LogLevel::kError, "event handler failed",
        {{"kind", event.kind}, {"object", Named(event)}, {"error", e.what()}});
  }
  return true;
}

void AsyncHandler::PopFront(Queue& queue) {
  queue.events.pop_front();
  queue.not_ready_since.reset();
  queue.backoff.Reset();
  --pending_;
  changed_.notify_all();
}

AsyncHandler::Clock::time_point AsyncHandler::Postpone(Queue& queue, const std::string& why) {
  const WatchEvent& event = queue.events.front();
  const auto now = Clock::now();
  if (queue.events.size() > 1) {
    // Something newer waits behind it.
    if (Overtakes(queue.events[1], event)) queue.events[1].type = event.type;
    PopFront(queue);
    return now;
  }
  if (!queue.not_ready_since) queue.not_ready_since = now;
  if (now - *queue.not_ready_since < options_.give_up) return now + queue.backoff.Next();
  ++errors_;
  Log(LogLevel::kError, "event given up",
      {{"kind", event.kind}, {"object", Named(event)}, {"error", why}});
  PopFront(queue);
  return now;
}

void AsyncHandler::RequestStop() noexcept {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

void AsyncHandler::Drain() {
  const MutexLock lock(mutex_);
  while (!stopping_ && pending_ > 0) changed_.wait(mutex_);
}

size_t AsyncHandler::pending() const {
  const MutexLock lock(mutex_);
  return pending_;
}

uint64_t AsyncHandler::errors() const {
  const MutexLock lock(mutex_);
  return errors_;
}

}  // namespace kuryr::watcher
