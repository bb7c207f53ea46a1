#pragma once

#include <string>

#include "binding/netlink/route_socket.h"

namespace kuryr::binding {

/// Links of the node that carry pods' packets and none of the node's own.

/// No IPv6 on `link`, which is down: pods would reach the node by its link-local address, whatever
/// Open vSwitch lets through. A kernel without IPv6 is fine. Throws std::system_error.
void DisableIpv6(const std::string& link);
/// For a bridge without addresses: no IPv6, and no answer to ARP for another link's address.
void Silence(const std::string& bridge);
/// Marks the link, and then sets it up, with two requests. The kernel tells listeners of a changed
/// alias only if the link is up, and ovs-vswitchd looks at the whole node for each notice.
void MarkAndSetUp(RouteSocket& host, const Link& link, const std::string& mark);
/// Sets up the host end of a veth pair, marked. It has no IPv6, and a filter drops packets from
/// addresses without a route (rp_filter): for a link without addresses that is all of IPv4.
void SetUpHostEnd(RouteSocket& host, const std::string& name, const std::string& mark);

}  // namespace kuryr::binding
