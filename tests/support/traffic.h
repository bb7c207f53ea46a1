#pragma once

#include <cstddef>
#include <string>

#include "binding/netns.h"

namespace kuryr::test {

/// Sends bytes between sockets of two network namespaces and compares them on arrival. `address`
/// belongs to `to`. Throws std::system_error when bytes are lost, refused or missing after 30 s.

/// Sends over a connection of this IP protocol (TCP, SCTP), there and back.
void ExpectEcho(const binding::Netns& from, const binding::Netns& to, const std::string& address,
                int protocol, size_t size);
/// Sends one datagram, there and back.
void ExpectDatagramEcho(const binding::Netns& from, const binding::Netns& to,
                        const std::string& address, size_t size);
/// Sends TCP and UDP in several sizes, below and far above any MTU.
void ExpectTraffic(const binding::Netns& from, const binding::Netns& to,
                   const std::string& address);
/// Whether the kernel has SCTP.
[[nodiscard]] bool HasSctp();

}  // namespace kuryr::test
