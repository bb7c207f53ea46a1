#pragma once

#include <optional>
#include <string>

namespace kuryr::cni {

/// Why the process at the other end of a unix socket is not to be served; nullopt where it may be.
/// Served is root of this process's own user namespace with CAP_SYS_ADMIN (unix(7) SO_PEERCRED,
/// user_namespaces(7), capabilities(7)).
[[nodiscard]] std::optional<std::string> WhyUntrusted(int socket);

}  // namespace kuryr::cni
