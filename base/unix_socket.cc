#include "base/unix_socket.h"

#include <cerrno>

#include "base/error.h"

namespace kuryr {

UnixAddress::UnixAddress(const std::string& path) {
  constexpr size_t kMost = sizeof address_.sun_path - 1;
  if (path.size() > kMost) {
    ThrowErrno(ENAMETOOLONG,
               "use the socket " + path + " (at most " + std::to_string(kMost) + " bytes)");
  }
  path.copy(static_cast<char*>(address_.sun_path), kMost);
}

UniqueFd MakeUnixSocket(int flags) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!socket) ThrowErrno("make a unix socket");
  return socket;
}

UniqueFd ConnectToUnix(const std::string& path) {
  const UnixAddress address(path);
  UniqueFd socket = MakeUnixSocket(SOCK_NONBLOCK);
  if (::connect(socket.get(), address.get(), address.size()) != 0) ThrowErrno("connect to " + path);
  return socket;
}

}  // namespace kuryr
