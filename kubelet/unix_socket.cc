#include "kubelet/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/unix_socket.h"

namespace kuryr::kubelet {
void SocketFile::Remove() const noexcept {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return;
  if (found.st_dev == device && found.st_ino == inode) ::unlink(path.c_str());
}

Listener ListenAt(const std::string& path) {
  constexpr int kBacklog = 16;
  const std::string what = "listen at " + path;
  UniqueFd socket = MakeUnixSocket(SOCK_NONBLOCK);
  const UnixAddress address(path);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) ThrowErrno(what);
  // bind(2) takes the file's mode from here.
  if (::fchmod(socket.get(), 0600) != 0) ThrowErrno(what);
  if (::bind(socket.get(), address.get(), address.size()) != 0) ThrowErrno(what);
  if (::listen(socket.get(), kBacklog) != 0) ThrowErrno(what);
  struct stat made{};
  if (::lstat(path.c_str(), &made) != 0) ThrowErrno(what);
  return {.fd = std::move(socket),
          .file = {.path = path, .device = made.st_dev, .inode = made.st_ino}};
}

}  // namespace kuryr::kubelet
