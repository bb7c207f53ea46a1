#include "cni/plugin/socket_watch.h"

#include <poll.h>
#include <sys/inotify.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>

#include "base/error.h"

namespace kuryr::cni {
namespace {

constexpr std::chrono::milliseconds kRetryTime{1000};

}  // namespace

SocketWatch::SocketWatch(const std::string& path)
    : path_(path),
      folder_(std::filesystem::path(path).parent_path()),
      events_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

void SocketWatch::Begin() {
  // Each time, for it may be another folder by now.
  ::inotify_add_watch(events_.get(), folder_.c_str(), IN_CREATE | IN_MOVED_TO);
}

bool SocketWatch::Wait(const Deadline& deadline) {
  std::array<pollfd, 2> fds = {{{.fd = events_.get(), .events = POLLIN, .revents = 0},
                                {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
  const int time = static_cast<int>(std::min(deadline.Remaining(), kRetryTime).count());
  if (::poll(fds.data(), fds.size(), time) < 0 && errno != EINTR) ThrowErrno("wait for " + path_);
  if (fds[1].revents != 0) ThrowErrno(ECANCELED, "wait for " + path_);
  std::array<char, 4096> passed{};
  while (fds[0].revents != 0 && ::read(events_.get(), passed.data(), passed.size()) > 0) {
  }
  return deadline.Remaining().count() > 0;
}

}  // namespace kuryr::cni
