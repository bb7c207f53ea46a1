#pragma once

#include <algorithm>
#include <chrono>

namespace kuryr {

/// When an operation gives up: at a point in time, or as soon as `cancel_fd` (if any) becomes
/// readable. The descriptor is borrowed. Past the deadline operations throw std::system_error with
/// std::errc::timed_out. Cancelled operations throw it with std::errc::operation_canceled.
struct Deadline {
  using Clock = std::chrono::steady_clock;

  Clock::time_point at = Clock::time_point::max();
  int cancel_fd = -1;

  [[nodiscard]] static Deadline After(Clock::duration time, int cancel_fd = -1) {
    return {.at = Clock::now() + time, .cancel_fd = cancel_fd};
  }
  /// The earlier of this one and `time` from now.
  [[nodiscard]] Deadline AtMost(Clock::duration time) const {
    return {.at = std::min(at, Clock::now() + time), .cancel_fd = cancel_fd};
  }
  /// Zero when past.
  [[nodiscard]] std::chrono::milliseconds Remaining() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at - Clock::now());
    return std::max(left, std::chrono::milliseconds(0));
  }
};

}  // namespace kuryr
