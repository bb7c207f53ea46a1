#include "controller/backends/neutron/held/active_poll.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace kuryr::controller::neutron {

ActivePoll::ActivePoll(NeutronApi& api, Pace pace, Found found)
    : api_(api),
      pace_(pace),
      found_(std::move(found)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void ActivePoll::Add(const std::string& id) {
  const MutexLock lock(mutex_);
  if (!waiting_.insert(id).second) return;
  youngest_ = Clock::now();
  changed_.notify_all();
}

void ActivePoll::Remove(const std::string& id) {
  const MutexLock lock(mutex_);
  waiting_.erase(id);
}

size_t ActivePoll::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

std::vector<std::string> ActivePoll::ids() const {
  const MutexLock lock(mutex_);
  return {waiting_.begin(), waiting_.end()};
}

void ActivePoll::Run(const std::stop_token& stop) {
  while (true) {
    const std::vector<std::string> ids = WaitForTurn(stop);
    if (ids.empty()) return;
    try {
      Ask(ids);
    } catch (const NeutronError& e) {
      Log(LogLevel::kWarning, "Neutron does not say which ports are active; asked again",
          {{"ports", ids.size()}, {"error", e.what()}});
      failed_ = true;
    }
  }
}

/// An eighth of the time that the youngest has waited: a second after 8.
ActivePoll::Clock::duration ActivePoll::Interval() const {
  if (failed_) return pace_.most;
  const auto waited = Clock::now() - youngest_;
  return std::clamp<Clock::duration>(waited / 8, pace_.least, pace_.most);
}

std::vector<std::string> ActivePoll::WaitForTurn(const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  while (!stop.stop_requested()) {
    if (waiting_.empty()) {
      changed_.wait(mutex_, stop,
                    [this]() KURYR_TSA(requires_capability(mutex_)) { return !waiting_.empty(); });
      continue;
    }
    const auto due = asked_ + Interval();
    if (Clock::now() >= due) {
      asked_ = Clock::now();
      return {waiting_.begin(), waiting_.end()};
    }
    const auto youngest = youngest_;
    (void)changed_.wait_until(mutex_, stop, due, [&]() KURYR_TSA(requires_capability(mutex_)) {
      return youngest_ != youngest;
    });
  }
  return {};
}

void ActivePoll::Ask(const std::vector<std::string>& ids) {
  std::vector<std::string> active = api_.ActivePorts(ids);
  failed_ = false;
  {
    const MutexLock lock(mutex_);
    std::erase_if(active, [this](const std::string& id) KURYR_TSA(requires_capability(mutex_)) {
      return waiting_.erase(id) == 0;
    });
  }
  if (!active.empty()) found_(active);
}

}  // namespace kuryr::controller::neutron
