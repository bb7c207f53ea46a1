#pragma once

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "base/unique_fd.h"

namespace kuryr::kubelet {

inline void Require(bool property) {
  if (!property) std::abort();
}

/// Two connected sockets that do not block; bytes sent by one can be read at once by the other.
struct SocketPair {
  SocketPair() {
    std::array<int, 2> both{};
    Require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, both.data()) == 0);
    ours.reset(both[0]);
    theirs.reset(both[1]);
  }

  void TheySay(std::string_view bytes) const {
    (void)::send(theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  UniqueFd ours;
  UniqueFd theirs;
};

}  // namespace kuryr::kubelet
