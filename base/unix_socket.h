#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "base/unique_fd.h"

namespace kuryr {

/// The address of a unix stream socket at a path (unix(7)).
class UnixAddress {
 public:
  /// Throws std::system_error, ENAMETOOLONG, that names the path and the limit.
  explicit UnixAddress(const std::string& path);

  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&address_);
  }
  [[nodiscard]] static socklen_t size() noexcept { return sizeof(sockaddr_un); }

 private:
  sockaddr_un address_ = {.sun_family = AF_UNIX, .sun_path = {}};
};

/// A stream socket without a name. `flags` are SOCK_NONBLOCK or 0. Throws std::system_error.
[[nodiscard]] UniqueFd MakeUnixSocket(int flags);

/// A non-blocking connection to the socket at `path`. Throws std::system_error that names the path:
/// EAGAIN where the listener's queue is full.
[[nodiscard]] UniqueFd ConnectToUnix(const std::string& path);

}  // namespace kuryr
