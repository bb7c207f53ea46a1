#include "watcher/connection_guard.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

namespace kuryr::watcher {
namespace {

/// Detects a peer that disappeared without closing the connection, after a minute.
void KeepAlive(int socket) {
  constexpr int kOn = 1;
  constexpr int kIdle = 30;      // seconds
  constexpr int kInterval = 10;  // seconds
  constexpr int kProbes = 3;
  constexpr int kUnacknowledged = 60'000;  // ms
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kIdle, sizeof kIdle);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kInterval, sizeof kInterval);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledged, sizeof kUnacknowledged);
}

/// A descriptor that is no socket, opened early because later there may be no free descriptor.
int NoSocket() {
  static const UniqueFd kFile = [] {
    UniqueFd opened(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!opened) ThrowErrno("open /dev/null");
    return opened;
  }();
  return kFile.get();
}

}  // namespace

ConnectionGuard::ConnectionGuard() { (void)NoSocket(); }

ConnectionGuard::~ConnectionGuard() {
  {
    const MutexLock lock(mutex_);
    timer_.request_stop();
  }
  changed_.notify_all();
}

void ConnectionGuard::Adopt(int socket) {
  KeepAlive(socket);
  const MutexLock lock(mutex_);
  const bool is_over = stopped_ || interrupted_ || timed_out_;
  socket_.reset(is_over ? -1 : ::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  // The connect that follows fails at once on what is no socket.
  if (!socket_) ::dup3(NoSocket(), socket, O_CLOEXEC);
}

void ConnectionGuard::CutAt(Clock::time_point deadline) {
  {
    const MutexLock lock(mutex_);
    timed_out_ = false;
  }
  MoveTo(deadline);
}

void ConnectionGuard::MoveTo(Clock::time_point deadline) {
  bool sooner = false;
  {
    const MutexLock lock(mutex_);
    if (timed_out_) return;
    sooner = deadline < wakes_at_;
    deadline_ = deadline;
  }
  // A timer that wakes too early just waits again.
  if (!sooner) return;
  if (!timer_.joinable()) {
    timer_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }
  changed_.notify_all();
}

void ConnectionGuard::Run(const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  while (!stop.stop_requested()) {
    if (Clock::now() >= deadline_) {
      timed_out_ = true;
      deadline_ = Clock::time_point::max();
      Cut();
    }
    // A copy: the wait reads it without the lock.
    const Clock::time_point until = wakes_at_ = deadline_;
    if (until == Clock::time_point::max()) {
      changed_.wait(mutex_);
    } else {
      changed_.wait_until(mutex_, until);
    }
  }
}

void ConnectionGuard::Cut() {
  if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
}

void ConnectionGuard::Stop() noexcept {
  const MutexLock lock(mutex_);
  stopped_ = true;
  Cut();
}

void ConnectionGuard::Interrupt() noexcept {
  const MutexLock lock(mutex_);
  interrupted_ = true;
  Cut();
}

void ConnectionGuard::Resume() noexcept {
  const MutexLock lock(mutex_);
  interrupted_ = false;
}

bool ConnectionGuard::stopped() const {
  const MutexLock lock(mutex_);
  return stopped_;
}

bool ConnectionGuard::interrupted() const {
  const MutexLock lock(mutex_);
  return interrupted_;
}

bool ConnectionGuard::timed_out() const {
  const MutexLock lock(mutex_);
  return timed_out_;
}

bool IsQuiet(int socket) {
  pollfd events{socket, POLLIN, 0};
  return ::poll(&events, 1, 0) == 0;
}

}  // namespace kuryr::watcher
