#include "cni/protocol/agent_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/rollback.h"
#include "base/unix_socket.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;

/// True also when the listener's backlog is full.
bool IsListening(const std::string& path) {
  const UniqueFd socket = MakeUnixSocket(SOCK_NONBLOCK);
  const UnixAddress address(path);
  return ::connect(socket.get(), address.get(), address.size()) == 0 || errno == EAGAIN;
}

}  // namespace

UniqueFd ListenAt(const std::string& path) {
  constexpr int kBacklog = 512;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    ThrowErrno("create " + folder.string());
  if (IsListening(path)) ThrowErrno(EADDRINUSE, "listen at " + path);
  // ss(8) goes on showing this name.
  const std::string unready = path + "." + std::to_string(::getpid());
  ::unlink(unready.c_str());
  UniqueFd socket = MakeUnixSocket(0);
  const UnixAddress address(unready);
  Rollback remove_unready([&] { ::unlink(unready.c_str()); });
  const mode_t before = ::umask(0177);
  const int bound = ::bind(socket.get(), address.get(), address.size());
  const int error = errno;
  ::umask(before);
  if (bound != 0) ThrowErrno(error, "listen at " + path);
  if (::listen(socket.get(), kBacklog) != 0) ThrowErrno("listen at " + path);
  if (::rename(unready.c_str(), path.c_str()) != 0) ThrowErrno("listen at " + path);
  remove_unready.Dismiss();
  return socket;
}

std::string StatusSocketOf(const std::string& path) {
  constexpr std::string_view kSuffix = ".sock";
  const size_t suffix = path.ends_with(kSuffix) ? kSuffix.size() : 0;
  return path.substr(0, path.size() - suffix) + "-status.sock";
}

UniqueFd InheritedListener() {
  constexpr int kFirst = 3;
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  if (pid == nullptr || count == nullptr || std::atoi(pid) != ::getpid() || std::atoi(count) < 1)
    return {};
  int listens = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(kFirst, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
    throw std::runtime_error("LISTEN_FDS: descriptor 3 is no listening socket");
  ::fcntl(kFirst, F_SETFD, FD_CLOEXEC);
  return UniqueFd(kFirst);
}

UniqueFd ConnectTo(const std::string& path, const Deadline& deadline) {
  UniqueFd socket = MakeUnixSocket(0);
  const UnixAddress address(path);
  // connect(2) waits this long for a place in the backlog (unix(7)); 0 is for ever.
  const auto left = std::max(deadline.Remaining(), 1ms);
  const timeval time = {.tv_sec = left / 1s, .tv_usec = left % 1s / 1us};
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) != 0)
    ThrowErrno("connect to " + path);
  if (::connect(socket.get(), address.get(), address.size()) != 0)
    ThrowErrno(errno == EAGAIN ? ETIMEDOUT : errno, "connect to " + path);
  return socket;
}

}  // namespace kuryr::cni
