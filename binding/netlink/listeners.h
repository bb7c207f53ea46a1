#pragma once

#include <cstdint>
#include <vector>

#include "base/ip.h"

namespace kuryr::binding {

/// The addresses with listeners on TCP port `port` in the calling thread's namespace; 0.0.0.0 and
/// :: stand for all. Empty where the kernel cannot tell (sock_diag(7), module tcp_diag). Throws
/// std::system_error when the socket fails.
[[nodiscard]] std::vector<IpAddress> FindListeners(uint16_t port);

}  // namespace kuryr::binding
