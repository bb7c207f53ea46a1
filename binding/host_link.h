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
/// Two requests: of the alias of a link that is up, the kernel would tell all who listen, and
/// ovs-vswitchd looks at the whole node for each notice.
void MarkAndSetUp(RouteSocket& host, const Link& link, const std::string& mark);
/// The host end of a veth pair: marked, and then up. Without IPv6, and with a filter that drops
/// what comes from where no route leads (rp_filter): it has no address, so that is all of IPv4.
void SetUpHostEnd(RouteSocket& host, const std::string& name, const std::string& mark);

}  // namespace kuryr::binding
