#include "devices/serve.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "devices/change_events.h"
#include "devices/metrics.h"
#include "devices/plugins.h"
#include "service/health_port.h"
#include "service/notify.h"

namespace kuryr::devices {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// The time to gather changes, because many devices come at once.
constexpr auto kGathering = 100ms;
/// The longest time without a turn of the loop; the loop rests at most a tenth of it.
constexpr auto kMostSilence = 100s;

/// The time of the loop's last turn. Thread-safe.
class Heartbeat {
 public:
  void Beat() noexcept { last_ = Clock::now().time_since_epoch(); }
  [[nodiscard]] std::optional<std::string> WhyNotAlive() const {
    const auto silence = Clock::now().time_since_epoch() - last_.load();
    if (silence < kMostSilence) return std::nullopt;
    return "nothing has been done for " +
           std::to_string(std::chrono::duration_cast<std::chrono::seconds>(silence).count()) + " s";
  }

 private:
  std::atomic<Clock::duration> last_{Clock::now().time_since_epoch()};
};

/// The timeout for poll(2): the nearer of the two times; -1 means none.
int TimeUntil(Clock::time_point at, int other) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(at - Clock::now());
  const int time = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 10'000));
  return other < 0 ? time : std::min(time, other);
}

class Loop {
 public:
  Loop(Plugins& plugins, ChangeEvents& events) : plugins_(plugins), events_(events) {}

  /// False when `stop_fd` is readable.
  bool Wait(int stop_fd, int most) {
    std::vector<pollfd> fds;
    for (const int fd : {stop_fd, events_.folders_fd(), events_.uevents_fd()})
      fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    for (const int fd : plugins_.Fds()) fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    const auto due = std::min(plugins_.DueAt(), look_at_);
    if (::poll(fds.data(), fds.size(), TimeUntil(due, most)) < 0 && errno != EINTR)
      ThrowErrno("wait for the kubelet");
    return fds.front().revents == 0;
  }

  void Turn() {
    events_.Watch();
    const Changes changes = events_.Take();
    if (changes.config) plugins_.Reload();
    if (changes.devices) look_at_ = std::min(look_at_, Clock::now() + kGathering);
    if (Clock::now() >= look_at_) {
      look_at_ = Clock::time_point::max();
      plugins_.Rescan();
    }
    plugins_.Keep();
    plugins_.Advance();
  }

 private:
  Plugins& plugins_;
  ChangeEvents& events_;
  Clock::time_point look_at_ = Clock::time_point::max();
};

}  // namespace

void Serve(const Config& config, int stop_fd) {
  Metrics metrics;
  Heartbeat heartbeat;
  ChangeEvents events({.sysfs = config.sysfs,
                       .sockets = config.kubelet_dir / "device-plugins",
                       .config = config.config_file.parent_path(),
                       .devinfo = config.devinfo_dir,
                       .bridges = config.bridges});
  Plugins plugins(config, metrics);
  const service::Health health(config.program,
                               {.why_not_alive = [&heartbeat] { return heartbeat.WhyNotAlive(); },
                                .why_not_ready = [&metrics] { return metrics.WhyNotReady(); },
                                .metrics = [&metrics] { return metrics.Text(); }});
  Loop loop(plugins, events);
  service::Watchdog watchdog = service::Watchdog::OfProcess();
  loop.Turn();
  service::Notify("READY=1");
  while (loop.Wait(stop_fd, watchdog.Feed())) {
    heartbeat.Beat();
    loop.Turn();
  }
  service::Notify("STOPPING=1");
}

}  // namespace kuryr::devices
