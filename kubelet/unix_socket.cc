#include "kubelet/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace kuryr::kubelet {
namespace {

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) {
    ThrowErrno(ENAMETOOLONG, "use the socket " + path + " (at most " +
                                 std::to_string(sizeof address.sun_path - 1) + " bytes)");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

UniqueFd MakeSocket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) ThrowErrno("make a unix socket");
  return socket;
}

}  // namespace

void SocketFile::Remove() const noexcept {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return;
  if (found.st_dev == device && found.st_ino == inode) ::unlink(path.c_str());
}

Listener ListenAt(const std::string& path) {
  constexpr int kBacklog = 16;
  const std::string what = "listen at " + path;
  UniqueFd socket = MakeSocket();
  const sockaddr_un address = AddressOf(path);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) ThrowErrno(what);
  // bind(2) takes the file's mode from here.
  if (::fchmod(socket.get(), 0600) != 0) ThrowErrno(what);
  if (::bind(socket.get(), Generic(address), sizeof address) != 0) ThrowErrno(what);
  if (::listen(socket.get(), kBacklog) != 0) ThrowErrno(what);
  struct stat made{};
  if (::lstat(path.c_str(), &made) != 0) ThrowErrno(what);
  return {.fd = std::move(socket),
          .file = {.path = path, .device = made.st_dev, .inode = made.st_ino}};
}

UniqueFd ConnectTo(const std::string& path) {
  UniqueFd socket = MakeSocket();
  const sockaddr_un address = AddressOf(path);
  if (::connect(socket.get(), Generic(address), sizeof address) != 0)
    ThrowErrno("connect to " + path);
  return socket;
}

}  // namespace kuryr::kubelet
