#pragma once

namespace kuryr::cni {

/// Gives up for good what the agent needs no right to (capabilities(7), no_new_privs): threads that
/// start from now on have no more, and a program that one executed would get no more. To be called
/// while there is one thread. Throws std::system_error.
void KeepNeededCapabilities();

/// Whether the calling thread may configure networks: CAP_NET_ADMIN is in effect.
[[nodiscard]] bool MayConfigureNetworks();

}  // namespace kuryr::cni
