#pragma once

#include <chrono>
#include <deque>

namespace kuryr::cni {

/// When to ask again for what a server does not have, but somebody needs: soon, as long as such
/// questions are few, else every five minutes. In no hour are there more than 15. Not thread-safe.
class AbsentSchedule {
 public:
  using Clock = std::chrono::steady_clock;

  /// It was asked for at `now`, and absent.
  void Add(Clock::time_point now);
  /// When it may be asked for next.
  [[nodiscard]] Clock::time_point Next() const;

 private:
  Clock::time_point last_;
  std::deque<Clock::time_point> early_;  ///< the newest questions that did not wait for their time
};

}  // namespace kuryr::cni
