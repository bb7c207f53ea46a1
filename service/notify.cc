#include "service/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/unique_fd.h"

namespace kuryr::service {

void Notify(std::string_view state) noexcept {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (path == nullptr || std::strlen(path) >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path, std::strlen(path));
  const socklen_t length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
  // '@' stands for the abstract namespace.
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  (void)::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), length);
}

Watchdog Watchdog::OfProcess() {
  Watchdog watchdog;
  const char* time = std::getenv("WATCHDOG_USEC");
  const char* pid = std::getenv("WATCHDOG_PID");
  if (time == nullptr || (pid != nullptr && std::atoi(pid) != ::getpid())) return watchdog;
  // Half of the time, as sd_watchdog_enabled(3) advises.
  watchdog.interval_ = std::chrono::microseconds(std::max(std::atoll(time), 0LL)) / 2;
  return watchdog;
}

int Watchdog::Feed() noexcept {
  if (interval_ == Clock::duration::zero()) return -1;
  const Clock::time_point now = Clock::now();
  if (now >= due_) {
    Notify("WATCHDOG=1");
    due_ = now + interval_;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due_ - now).count();
  return static_cast<int>(std::min<int64_t>(left, std::numeric_limits<int>::max()));
}

}  // namespace kuryr::service
