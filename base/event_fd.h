#pragma once

#include <sys/eventfd.h>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kuryr {

/// Something that happens once: Set() makes fd() readable, for good. Thread-safe.
class EventFd {
 public:
  EventFd() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!fd_) ThrowErrno("eventfd");
  }

  void Set() const noexcept { ::eventfd_write(fd_.get(), 1); }
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  UniqueFd fd_;
};

}  // namespace kuryr
