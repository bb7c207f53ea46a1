#include "cni/agent/upkeep/upkeep.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/log.h"
#include "base/rollback.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;

std::string ItemOf(const UpkeepJob& job, const std::string& key) {
  return std::string(job.name()) + ' ' + key;
}

}  // namespace

Upkeep::Upkeep(std::vector<UpkeepJob*> jobs)
    : jobs_(std::move(jobs)), queue_({.retry_base = 1s, .retry_cap = 60s}) {
  for (UpkeepJob* job : jobs_) job->Begin(*this);
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

Upkeep::~Upkeep() {
  queue_.ShutDown();
  thread_.request_stop();
  thread_.join();
}

void Upkeep::AddAfter(const UpkeepJob& job, const std::string& key, Clock::duration delay) {
  queue_.AddAfter(ItemOf(job, key), delay);
}

void Upkeep::AddRateLimited(const UpkeepJob& job, const std::string& key) {
  queue_.AddRateLimited(ItemOf(job, key));
}

void Upkeep::Run(const std::stop_token& stop) {
  while (const auto item = queue_.Get()) {
    bool done = false;
    try {
      done = Try(item->key, stop);
    } catch (const std::exception& e) {
      Log(LogLevel::kDebug, "the upkeep failed; it will be tried again",
          {{"work", item->key}, {"error", e.what()}});
    }
    if (!done) queue_.AddRateLimited(item->key);
    queue_.Done(item->key);
  }
}

bool Upkeep::Try(const std::string& item, const std::stop_token& stop) {
  const size_t blank = item.find(' ');
  const std::string key = item.substr(blank + 1);
  const EventFd cancel;
  const std::stop_callback on_stop(stop, [&cancel] { cancel.Set(); });
  {
    const MutexLock lock(mutex_);
    if (std::find(paused_.begin(), paused_.end(), key) != paused_.end()) return false;
    at_work_.emplace(Work{.key = key, .cancel = cancel});
  }
  const Rollback over([this] {
    const MutexLock lock(mutex_);
    at_work_.reset();
    changed_.notify_all();
  });
  return JobOf(item.substr(0, blank)).Try(*this, key, Deadline::After(kUndoTime, cancel.fd()));
}

UpkeepJob& Upkeep::JobOf(const std::string& name) const {
  return **std::find_if(jobs_.begin(), jobs_.end(),
                        [&](const UpkeepJob* job) { return job->name() == name; });
}

Upkeep::Pause::Pause(Upkeep& upkeep, const AttachmentKey& key)
    : upkeep_(upkeep), key_(ToString(key)) {
  const MutexLock lock(upkeep_.mutex_);
  upkeep_.paused_.push_back(key_);
  while (upkeep_.at_work_ && upkeep_.at_work_->key == key_) {
    upkeep_.at_work_->cancel.Set();
    upkeep_.changed_.wait(upkeep_.mutex_);
  }
}

Upkeep::Pause::~Pause() {
  const MutexLock lock(upkeep_.mutex_);
  upkeep_.paused_.erase(std::find(upkeep_.paused_.begin(), upkeep_.paused_.end(), key_));
}

}  // namespace kuryr::cni
