#pragma once

#include <chrono>
#include <string_view>

namespace kuryr::service {

/// Tells systemd, if it started us (sd_notify(3)): "READY=1", "WATCHDOG=1". Does nothing otherwise,
/// and never fails.
void Notify(std::string_view state) noexcept;

/// systemd's watchdog (WatchdogSec), which restarts a service that it does not hear of in time.
class Watchdog {
 public:
  /// As the environment has it: WATCHDOG_USEC, WATCHDOG_PID.
  [[nodiscard]] static Watchdog OfProcess();
  /// None.
  Watchdog() = default;

  /// Says that all is well, if it is time to. Returns how many milliseconds may pass until it is to
  /// be called again, as poll(2) wants it: -1 without a watchdog.
  [[nodiscard]] int Feed() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  Clock::duration interval_{};  ///< zero without a watchdog
  Clock::time_point due_;
};

}  // namespace kuryr::service
