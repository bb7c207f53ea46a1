#pragma once

#include <cstddef>
#include <string>

#include "binding/netns.h"

namespace kuryr::test {

/// Bytes over sockets of two network namespaces, compared when they arrive. `address` is of `to`.
/// Throws std::system_error when something is lost, refused or not there after 30 s.

/// Over a connection of this IP protocol (TCP, SCTP), there and back.
void ExpectEcho(const binding::Netns& from, const binding::Netns& to, const std::string& address,
                int protocol, size_t size);
/// One datagram, there and back.
void ExpectDatagramEcho(const binding::Netns& from, const binding::Netns& to,
                        const std::string& address, size_t size);
/// TCP and UDP in several sizes, below and far above any MTU.
void ExpectTraffic(const binding::Netns& from, const binding::Netns& to,
                   const std::string& address);
/// False where the kernel has no SCTP.
[[nodiscard]] bool HasSctp();

}  // namespace kuryr::test
