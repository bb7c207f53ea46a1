#pragma once

namespace kuryr::cni {

/// Gives up all capabilities but the agent's own, for good (capabilities(7), no_new_privs). So do
/// threads that start from now on, and programs that they execute. To be called while there is one
/// thread. Throws std::system_error.
void KeepNeededCapabilities();

/// Whether the calling thread may configure networks: CAP_NET_ADMIN is in effect.
[[nodiscard]] bool MayConfigureNetworks();

}  // namespace kuryr::cni
