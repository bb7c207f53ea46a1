#pragma once

#include <string>

#include "binding/netlink/route_socket.h"

namespace kuryr::binding {

/// The node's link that nested interfaces stand on: `link_iface` if that is set; else the one
/// with the only address on TCP port 10250, the kubelet's; else the one packets to the world leave
/// through; else the first that is up, has a carrier and a MAC, is no port of a bridge, and was not
/// made by us. `host` is of the calling thread's namespace. Throws
/// std::system_error: ENODEV, or ENETDOWN for a link_iface that is down.
[[nodiscard]] Link FindParentLink(RouteSocket& host, const std::string& link_iface);

}  // namespace kuryr::binding
