#pragma once

#include <cstdint>
#include <vector>

#include "base/ip.h"

namespace kuryr::binding {

/// The addresses on which somebody listens on TCP port `port` in the calling thread's namespace;
/// 0.0.0.0 and :: stand for all. A kernel that cannot tell (sock_diag(7), module tcp_diag) knows
/// none. Throws std::system_error when the socket fails.
[[nodiscard]] std::vector<IpAddress> FindListeners(uint16_t port);

}  // namespace kuryr::binding
