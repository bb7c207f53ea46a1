#pragma once

#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"

namespace kuryr::kubelet {

/// Descriptors that are waited for together (epoll(7)), and an alarm beside them. Not thread-safe.
class PollSet {
 public:
  PollSet();

  /// Readable when one of them is ready, or the alarm is due.
  [[nodiscard]] int fd() const noexcept { return epoll_.get(); }
  /// `events`: EPOLLIN, EPOLLOUT. Throws std::system_error.
  void Add(int fd, uint32_t events);
  void Change(int fd, uint32_t events);
  void Remove(int fd) noexcept;
  /// Clock::time_point::max(): never.
  void SetAlarm(Deadline::Clock::time_point at);
  /// The ones that are ready now, some of them if they are many. An alarm that is due is over.
  [[nodiscard]] std::vector<int> Ready();

 private:
  UniqueFd epoll_;
  UniqueFd alarm_;
};

}  // namespace kuryr::kubelet
