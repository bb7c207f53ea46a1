#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace kuryr::service {

/// Whether `address` is a path: a unix socket for the program's user only.
[[nodiscard]] inline bool IsSocketPath(const std::string& address) {
  return address.starts_with('/');
}

/// Listens at an address, or at a path: there it replaces an existing socket and ignores `port`.
/// The descriptor does not block. Throws std::system_error that names the place.
[[nodiscard]] UniqueFd ListenForHealth(const std::string& address, uint16_t port);

/// The client of a connection: its IPv4 address, or the first half of its IPv6 address, because a
/// host can use the whole second half. All peers at a unix socket are one client.
[[nodiscard]] std::string ClientOf(int connection);

}  // namespace kuryr::service
