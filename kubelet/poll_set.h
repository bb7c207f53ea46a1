#pragma once

#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"

namespace kuryr::kubelet {

/// A set of descriptors to wait for (epoll(7)), with an alarm. Not thread-safe.
class PollSet {
 public:
  PollSet();

  /// Readable when a descriptor is ready or the alarm is due.
  [[nodiscard]] int fd() const noexcept { return epoll_.get(); }
  /// `events`: EPOLLIN, EPOLLOUT. Throws std::system_error.
  void Add(int fd, uint32_t events);
  void Change(int fd, uint32_t events);
  void Remove(int fd) noexcept;
  /// Clock::time_point::max() means never.
  void SetAlarm(Deadline::Clock::time_point at);
  /// The descriptors that are ready now, or only some of many. Clears an alarm that is due.
  [[nodiscard]] std::vector<int> Ready();

 private:
  UniqueFd epoll_;
  UniqueFd alarm_;
};

}  // namespace kuryr::kubelet
