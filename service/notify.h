#pragma once

#include <chrono>
#include <string_view>

namespace kuryr::service {

/// Notifies systemd (sd_notify(3)), for example "READY=1" or "WATCHDOG=1". Does nothing if systemd
/// did not start the program, and never fails.
void Notify(std::string_view state) noexcept;

/// Feeds systemd's watchdog (WatchdogSec), which restarts a service that does not report in time.
class Watchdog {
 public:
  /// The watchdog of the environment: WATCHDOG_USEC, WATCHDOG_PID.
  [[nodiscard]] static Watchdog OfProcess();
  /// No watchdog.
  Watchdog() = default;

  /// Reports to systemd if a report is due. Returns the milliseconds until the next call is due, as
  /// poll(2) takes them: -1 without a watchdog.
  [[nodiscard]] int Feed() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  Clock::duration interval_{};  ///< zero without a watchdog
  Clock::time_point due_;
};

}  // namespace kuryr::service
