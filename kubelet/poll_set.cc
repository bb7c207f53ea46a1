#include "kubelet/poll_set.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/error.h"

namespace kuryr::kubelet {
namespace {

void Control(int epoll, int operation, int fd, uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  if (::epoll_ctl(epoll, operation, fd, &event) != 0) ThrowErrno("epoll_ctl");
}

}  // namespace

PollSet::PollSet()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      alarm_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!epoll_) ThrowErrno("epoll_create1");
  if (!alarm_) ThrowErrno("timerfd_create");
  Add(alarm_.get(), EPOLLIN);
}

void PollSet::Add(int fd, uint32_t events) { Control(epoll_.get(), EPOLL_CTL_ADD, fd, events); }

void PollSet::Change(int fd, uint32_t events) { Control(epoll_.get(), EPOLL_CTL_MOD, fd, events); }

void PollSet::Remove(int fd) noexcept { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void PollSet::SetAlarm(Deadline::Clock::time_point at) {
  using namespace std::chrono_literals;
  itimerspec time{};
  if (at != Deadline::Clock::time_point::max()) {
    // timerfd takes zero as "never".
    const auto since = std::max(at.time_since_epoch(), Deadline::Clock::duration(1ns));
    time.it_value = {.tv_sec = since / 1s, .tv_nsec = since % 1s / 1ns};
  }
  if (::timerfd_settime(alarm_.get(), TFD_TIMER_ABSTIME, &time, nullptr) != 0)
    ThrowErrno("timerfd_settime");
}

std::vector<int> PollSet::Ready() {
  std::array<epoll_event, 32> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), 0);
  std::vector<int> ready;
  for (int i = 0; i < count; ++i) {
    const int fd = events.at(static_cast<size_t>(i)).data.fd;
    uint64_t times = 0;
    if (fd != alarm_.get()) {
      ready.push_back(fd);
    } else if (::read(fd, &times, sizeof times) < 0 && errno != EAGAIN) {
      ThrowErrno("read a timerfd");
    }
  }
  return ready;
}

}  // namespace kuryr::kubelet
