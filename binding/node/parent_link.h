#pragma once

#include <string>

#include "binding/netlink/route_socket.h"

namespace kuryr::binding {

/// The node's link that nested interfaces stand on. It is the first of: `link_iface`; the link with
/// the only address on TCP port 10250, the kubelet's; the link that packets to the world leave
/// through; a link that is up and has a carrier and a MAC. The last one is no port of a bridge and
/// none of our links. `host` is of the calling thread's namespace. Throws std::system_error:
/// ENODEV, or ENETDOWN for a link_iface that is down.
[[nodiscard]] Link FindParentLink(RouteSocket& host, const std::string& link_iface);

}  // namespace kuryr::binding
