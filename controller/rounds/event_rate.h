#pragma once

#include <chrono>
#include <map>
#include <string>

namespace kuryr::controller {

/// Limits the Events of an object: 25 at once, and one more every 5 minutes. (client-go's
/// EventSourceObjectSpamFilter) Not thread-safe.
class EventRate {
 public:
  using Clock = std::chrono::steady_clock;

  /// Takes one Event of the object's share. False if the share is used up at `now`.
  [[nodiscard]] bool Take(const std::string& uid, Clock::time_point now = Clock::now());
  /// The number of objects that do not have their full share.
  [[nodiscard]] size_t size() const noexcept { return full_at_.size(); }

 private:
  static constexpr int kAtOnce = 25;
  static constexpr std::chrono::minutes kEach{5};

  std::map<std::string, Clock::time_point> full_at_;  ///< when each object has its full share again
  Clock::time_point sweep_at_;
};

}  // namespace kuryr::controller
