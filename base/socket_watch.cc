#include "base/socket_watch.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.h"

namespace kuryr {

bool SocketWatch::Wait(const Deadline& deadline) {
  std::array<pollfd, 2> fds = {
      {{.fd = folder_ ? folder_->fd() : -1, .events = POLLIN, .revents = 0},
       {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
  const int time = static_cast<int>(std::min(deadline.Remaining(), pause_).count());
  if (::poll(fds.data(), fds.size(), time) < 0 && errno != EINTR) ThrowErrno("wait for " + server_);
  if (fds[1].revents != 0) ThrowErrno(ECANCELED, "wait for " + server_);
  pause_ = fds[0].revents != 0 ? kFirstPause : std::min(pause_ * 2, kLongestPause);
  return deadline.Remaining().count() > 0;
}

}  // namespace kuryr
