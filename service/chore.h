#pragma once

#include <functional>
#include <string>
#include <thread>

#include "service/work_queue.h"

namespace kuryr::service {

/// A task that a thread of its own runs again and again. A run that throws is logged, and repeated
/// as by Retry. Thread-safe.
class Chore {
 public:
  using Clock = WorkQueue::Clock;
  /// Calls Want or Retry where another run is to follow.
  using Run = std::function<void(Chore& chore)>;

  /// `name` is for the log. The first run waits for Want. A run that is due while `may_run` is
  /// false is put off by a second.
  Chore(std::string name, std::function<bool()> may_run, Run run);
  Chore(const Chore&) = delete;
  Chore& operator=(const Chore&) = delete;
  /// Waits for a run that is under way.
  ~Chore() { queue_.ShutDown(); }

  /// The next run begins after `delay`, or earlier where it was wanted earlier.
  void Want(Clock::duration delay = {}) { queue_.AddAfter(name_, delay); }
  /// Within a run: the next one begins after a delay that grows from retry to retry.
  void Retry() { queue_.AddRateLimited(name_); }

 private:
  void Work();

  const std::string name_;
  const std::function<bool()> may_run_;
  const Run run_;
  WorkQueue queue_;      ///< its one key is the name
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace kuryr::service
