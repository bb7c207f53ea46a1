#pragma once

#include <chrono>
#include <map>
#include <string>

namespace kuryr::controller {

/// How many Events one object gets, whatever they say: 25 at once, and one more in 5 minutes each.
/// (client-go's EventSourceObjectSpamFilter) Not thread-safe.
class EventRate {
 public:
  using Clock = std::chrono::steady_clock;

  /// False where the object has had all that it gets by `now`.
  [[nodiscard]] bool Take(const std::string& uid, Clock::time_point now = Clock::now());
  /// Objects that it remembers: those that do not get as many as one that it has never heard of.
  [[nodiscard]] size_t size() const noexcept { return full_at_.size(); }

 private:
  static constexpr int kAtOnce = 25;
  static constexpr std::chrono::minutes kEach{5};

  std::map<std::string, Clock::time_point> full_at_;  ///< when each may have all at once again
  Clock::time_point sweep_at_;
};

}  // namespace kuryr::controller
