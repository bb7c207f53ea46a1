#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/api/neutron_api.h"

namespace kuryr::controller::neutron {

/// Asks Neutron which of the waiting ports are ACTIVE, by one list for all. It asks often after a
/// port began to wait, then ever more rarely, and never without a waiting port. Thread-safe.
class ActivePoll {
 public:
  using Clock = std::chrono::steady_clock;
  /// Gets the ids of ports that have become ACTIVE. Called from the poll's thread.
  using Found = std::function<void(const std::vector<std::string>& ids)>;
  struct Pace {
    std::chrono::milliseconds least{250};
    std::chrono::milliseconds most{5000};
  };

  /// Borrows the API.
  ActivePoll(NeutronApi& api, Pace pace, Found found);
  ActivePoll(const ActivePoll&) = delete;
  ActivePoll& operator=(const ActivePoll&) = delete;

  void Add(const std::string& id) EXCLUDES(mutex_);
  void Remove(const std::string& id) EXCLUDES(mutex_);
  [[nodiscard]] size_t waiting() const EXCLUDES(mutex_);
  [[nodiscard]] std::vector<std::string> ids() const EXCLUDES(mutex_);

 private:
  void Run(const std::stop_token& stop) EXCLUDES(mutex_);
  /// Returns the waiting ports when it is time to ask; empty when the thread is to end.
  [[nodiscard]] std::vector<std::string> WaitForTurn(const std::stop_token& stop) EXCLUDES(mutex_);
  [[nodiscard]] Clock::duration Interval() const REQUIRES(mutex_);
  void Ask(const std::vector<std::string>& ids) EXCLUDES(mutex_);

  NeutronApi& api_;
  const Pace pace_;
  const Found found_;
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::set<std::string> waiting_ GUARDED_BY(mutex_);
  Clock::time_point youngest_ GUARDED_BY(mutex_);  ///< when a port last began to wait
  Clock::time_point asked_ GUARDED_BY(mutex_);
  bool failed_ = false;  ///< the last time; the thread's own
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace kuryr::controller::neutron
