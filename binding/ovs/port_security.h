#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/ip.h"
#include "base/mac.h"

namespace kuryr::binding {

class OpenFlow;

/// The addresses from which a port may send. With IPv6 the link-local address of the MAC (RFC 4291,
/// appendix A) is one of them.
struct PortSecurity {
  MacAddress mac;
  std::vector<IpAddress> addresses;

  bool operator==(const PortSecurity&) const = default;
};

/// external_ids of a port's interface: the bridge has flows of ours for the port.
inline constexpr const char* kPortSecurity = "kuryr-port-security";

/// Has the bridge drop what the port of this OpenFlow number sends by other addresses: Ethernet,
/// IPv4 and IPv6 sources, senders of ARP, and what Neighbour Discovery says of them. It drops VLAN
/// tags, and what only routers and DHCP servers send, as well. The bridge's other flows decide on
/// the rest. Replaces earlier flows of the number; meanwhile the port may send less, never more.
void SecurePort(OpenFlow& bridge, uint32_t number, const PortSecurity& security,
                const Deadline& deadline);
/// Whether the bridge has these flows for the number, and no earlier ones.
[[nodiscard]] bool IsPortSecured(OpenFlow& bridge, uint32_t number, const PortSecurity& security,
                                 const Deadline& deadline);
/// Removes them. Does not wait for ovs-vswitchd.
void UnsecurePort(OpenFlow& bridge, uint32_t number, const Deadline& deadline);
/// Removes flows of ours whose ports the bridge has no more. `find_secured` gives the numbers of
/// ports that have kPortSecurity. It is asked when the flows are known, and a port has its number
/// before it has flows. Returns how many ports that were.
size_t RemoveStrayFlows(OpenFlow& bridge, const std::function<std::set<uint32_t>()>& find_secured,
                        const Deadline& deadline);

}  // namespace kuryr::binding
