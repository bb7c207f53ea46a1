#include "cni/agent/upkeep/upkeep.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/rollback.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;

service::QueueOptions Retries() { return {.retry_base = 1s, .retry_cap = 60s}; }

std::string ItemOf(const UpkeepJob& job, const std::string& key) {
  return std::string(job.name()) + ' ' + key;
}

}  // namespace

Upkeep::Upkeep(std::vector<UpkeepJob*> jobs)
    : jobs_(std::move(jobs)), serial_(Retries()), parallel_(Retries()) {
  for (UpkeepJob* job : jobs_) job->Begin(*this);
  threads_ = {std::jthread([this](const std::stop_token& stop) { RunSerial(stop); }),
              std::jthread([this](const std::stop_token& stop) { RunParallel(stop); })};
}

Upkeep::~Upkeep() {
  serial_.ShutDown();
  parallel_.ShutDown();
  for (std::jthread& thread : threads_) thread.request_stop();
  for (std::jthread& thread : threads_) thread.join();
}

void Upkeep::AddAfter(const UpkeepJob& job, const std::string& key, Clock::duration delay) {
  QueueOf(job).AddAfter(ItemOf(job, key), delay);
}

void Upkeep::AddRateLimited(const UpkeepJob& job, const std::string& key) {
  QueueOf(job).AddRateLimited(ItemOf(job, key));
}

void Upkeep::RunSerial(const std::stop_token& stop) {
  while (const auto item = serial_.Get()) Do(serial_, item->key, stop);
}

void Upkeep::RunParallel(const std::stop_token& stop) {
  while (const auto item = parallel_.Get()) {
    const bool is_alone = parallel_.metrics().ready == 0;
    if (is_alone || !Help(item->key, stop)) Do(parallel_, item->key, stop);
  }
}

bool Upkeep::Help(const std::string& item, const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  const auto is_idle = [](const Helper& helper) { return !helper.is_busy; };
  auto helper = helpers_.begin();
  while ((helper = std::find_if(helpers_.begin(), helpers_.end(), is_idle)) == helpers_.end())
    changed_.wait(mutex_);
  try {
    helper->thread = std::jthread([this, helper, item, stop] {
      Do(parallel_, item, stop);
      const MutexLock over(mutex_);
      helper->is_busy = false;
      changed_.notify_all();
    });
  } catch (const std::system_error& e) {
    Log(LogLevel::kWarning, "no thread for the upkeep", {{"error", e.what()}});
    return false;
  }
  helper->is_busy = true;
  return true;
}

void Upkeep::Do(service::WorkQueue& queue, const std::string& item, const std::stop_token& stop) {
  bool done = false;
  try {
    done = Try(item, stop);
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "the upkeep failed; it will be tried again",
        {{"work", item}, {"error", e.what()}});
  }
  if (!done) queue.AddRateLimited(item);
  queue.Done(item);
}

bool Upkeep::Try(const std::string& item, const std::stop_token& stop) {
  const size_t blank = item.find(' ');
  const std::string key = item.substr(blank + 1);
  const EventFd cancel;
  const std::stop_callback on_stop(stop, [&cancel] { cancel.Set(); });
  if (!BeginWork(key, cancel)) return false;
  const Rollback over([this, &key] {
    const MutexLock lock(mutex_);
    at_work_.erase(key);
    changed_.notify_all();
  });
  return JobOf(item.substr(0, blank)).Try(*this, key, Deadline::After(kUndoTime, cancel.fd()));
}

bool Upkeep::BeginWork(const std::string& key, const EventFd& cancel) {
  const MutexLock lock(mutex_);
  while (at_work_.contains(key)) changed_.wait(mutex_);
  if (std::find(paused_.begin(), paused_.end(), key) != paused_.end()) return false;
  at_work_.emplace(key, &cancel);
  return true;
}

UpkeepJob& Upkeep::JobOf(const std::string& name) const {
  return **std::find_if(jobs_.begin(), jobs_.end(),
                        [&](const UpkeepJob* job) { return job->name() == name; });
}

Upkeep::Pause::Pause(Upkeep& upkeep, const AttachmentKey& key)
    : upkeep_(upkeep), key_(ToString(key)) {
  const MutexLock lock(upkeep_.mutex_);
  upkeep_.paused_.push_back(key_);
  for (auto work = upkeep_.at_work_.find(key_); work != upkeep_.at_work_.end();
       work = upkeep_.at_work_.find(key_)) {
    work->second->Set();
    upkeep_.changed_.wait(upkeep_.mutex_);
  }
}

Upkeep::Pause::~Pause() {
  const MutexLock lock(upkeep_.mutex_);
  upkeep_.paused_.erase(std::find(upkeep_.paused_.begin(), upkeep_.paused_.end(), key_));
}

}  // namespace kuryr::cni
