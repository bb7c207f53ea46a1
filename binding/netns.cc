#include "binding/netns.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <exception>
#include <utility>

#include "base/error.h"

namespace kuryr::binding {
namespace {

// O_NONBLOCK: a FIFO in the namespace's place must not hang the request.
UniqueFd OpenPath(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

bool IsNetns(int fd) { return ::ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET; }

}  // namespace

std::optional<NetnsId> FindNetnsId(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return NetnsId{.device = status.st_dev, .inode = status.st_ino};
}

Netns::Netns(UniqueFd fd) : fd_(std::move(fd)) {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) ThrowErrno("stat network namespace");
  id_ = {.device = status.st_dev, .inode = status.st_ino};
}

Netns Netns::Open(const std::string& path) {
  UniqueFd fd = OpenPath(path);
  if (!fd) ThrowErrno("open network namespace " + Printable(path, 255));
  if (!IsNetns(fd.get())) ThrowErrno(EINVAL, Printable(path, 255) + " is no network namespace");
  return Netns(std::move(fd));
}

std::optional<Netns> Netns::OpenIfExists(const std::string& path) {
  UniqueFd fd = OpenPath(path);
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    ThrowErrno("open network namespace " + Printable(path, 255));
  }
  // Unmounted, /run/netns/NAME is an empty plain file.
  if (!IsNetns(fd.get())) return std::nullopt;
  return Netns(std::move(fd));
}

Netns Netns::FromFd(UniqueFd fd) {
  if (!IsNetns(fd.get())) ThrowErrno(EINVAL, "the descriptor is no network namespace");
  return Netns(std::move(fd));
}

Netns Netns::Current() {
  UniqueFd fd = OpenPath("/proc/thread-self/ns/net");
  if (!fd) ThrowErrno("open the thread's network namespace");
  return Netns(std::move(fd));
}

NetnsGuard::NetnsGuard(const Netns& netns) : previous_(Netns::Current()) {
  if (::setns(netns.fd(), CLONE_NEWNET) != 0) ThrowErrno("enter network namespace");
}

NetnsGuard::~NetnsGuard() {
  if (::setns(previous_.fd(), CLONE_NEWNET) != 0) std::terminate();
}

}  // namespace kuryr::binding
