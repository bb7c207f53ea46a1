#pragma once

#include <optional>
#include <string>

#include "binding/driver.h"
#include "binding/netlink/route_socket.h"

namespace kuryr::binding {

/// What Driver::Check compares, one part each: the first difference in words, nullopt when there is
/// none.

/// What a link has to be. An MTU of 0 and an empty kind stand for any; MAC and master only where
/// set.
struct WantedLink {
  std::string name;
  std::string kind;
  std::optional<MacAddress> mac;
  uint32_t mtu = 0;
  std::optional<int> master;     ///< the bridge's index, 0 for none
  bool marked = true;            ///< with the attachment's mark
  bool makes_checksums = false;  ///< RouteSocket::MakeChecksums
};
/// Also whether it is up.
[[nodiscard]] std::optional<std::string> CheckLink(RouteSocket& socket, const WantedLink& wanted,
                                                   const Attachment& attachment);
/// The pod's interface, with its addresses and routes. Name and MAC are those of the plan, whatever
/// `wanted` says. Its MTU may be a later plugin's.
[[nodiscard]] std::optional<std::string> CheckPodLink(const PlugRequest& request,
                                                      WantedLink wanted);

}  // namespace kuryr::binding
