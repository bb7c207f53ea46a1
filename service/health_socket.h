#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace kuryr::service {

/// Where one asks about health is a path: a unix socket of the program's user alone.
[[nodiscard]] inline bool IsSocketPath(const std::string& address) {
  return address.starts_with('/');
}

// Descriptors that never block. Both throw std::system_error that names the place.

/// At a path, a socket that lies there is replaced, and `port` does not matter.
[[nodiscard]] UniqueFd ListenForHealth(const std::string& address, uint16_t port);
/// To the unix socket at `path`.
[[nodiscard]] UniqueFd ConnectForHealth(const std::string& path);

/// Whose the connection is: an IPv4 address, or the first half of one of IPv6, which a host has as
/// many addresses of as it likes. Peers at a unix socket are one client.
[[nodiscard]] std::string ClientOf(int connection);

}  // namespace kuryr::service
