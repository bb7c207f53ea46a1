#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "binding/difference.h"
#include "binding/netlink/link.h"
#include "binding/netns.h"
#include "vif/vif.h"

namespace kuryr::binding {

class RouteSocket;

/// The addresses and routes of an interface, from its VIF's subnets. Addresses are set first.
struct L3Plan {
  struct Address {
    IpNetwork network;                 ///< the fixed IP with its subnet's prefix length
    std::optional<IpAddress> gateway;  ///< the subnet's
  };
  std::vector<Address> addresses;
  std::vector<LinkRoute> routes;
  std::vector<IpAddress> nameservers;  ///< for the result alone; the interface has none
  bool is_default = false;             ///< the default VIF's routes win
  /// The addresses are known only once the interface is there: ConfigureL3 does nothing until then.
  bool is_awaited = false;
  /// The plan has subnets of IPv6, and no address in them: routers advertise what the interface
  /// has.
  bool is_advertised = false;
};

/// The smallest MTU of a link with IPv6 addresses (RFC 8200, 5). Below it the kernel has no IPv6.
inline constexpr uint32_t kLeastIpv6Mtu = 1280;
/// The first IPv6 address of the plan; null where it has none.
[[nodiscard]] const L3Plan::Address* FindIpv6(const L3Plan& plan);

/// Every fixed IP; subnet by subnet its routes and, when `is_default`, a default route through its
/// gateway, one for each family: the first gateway wins. A gateway that is unset, null or 0.0.0.0
/// is none. Throws ParseError without a network, for a subnet or route without CIDR, and as
/// RequireNextHops.
[[nodiscard]] L3Plan PlanL3(const vif::VifBase& vif, bool is_default);
/// Routes to one destination become one with several next hops. Throws ParseError with `path` where
/// the kernel cannot have that: one of them has no gateway, they differ in more, or they are more
/// than 64.
void RequireNextHops(const L3Plan& plan, const std::string& path);

/// The namespace in which an interface gets its addresses.
enum class L3Scope {
  kPod,   ///< a pod's: lo is set up, and IPv6 is enabled for the whole namespace
  kHost,  ///< the host's: only settings of the interface itself change
};

/// Has a pod's `ifname` take its addresses and routes from the plan alone: it accepts neither
/// router advertisements nor redirects, which every neighbour can forge. A plan without addresses
/// leaves the interface as it is, and one that `is_advertised` leaves IPv6. For a link that is
/// still down, whatever its name is then. A kernel without a family is fine. Throws
/// std::system_error. The calling thread visits `netns` meanwhile.
void RefuseAdvertisements(const Netns& netns, const std::string& ifname, const L3Plan& plan);
/// Gives `ifname`, which is up in `netns`, the addresses and routes of the plan. A route that
/// exists stays as it is. Routes of the default VIF have the kernel's metric. Routes of other VIFs
/// have 1024 and the link's index, so that two VIFs of one network do not take each other's away.
/// Lifts disable_ipv6 (ip-sysctl) where an address is IPv6, and does as RefuseAdvertisements in a
/// pod. May be repeated. Nothing is undone on
/// failure, as all of it goes with the interface. Throws std::system_error that names the address
/// or route and the interface, and the MTU that is too small for IPv6. The calling thread visits
/// `netns` meanwhile.
void ConfigureL3(const Netns& netns, const std::string& ifname, const L3Plan& plan, L3Scope scope);
/// Changes a pod's `ifname` from one plan to another: adds what only `after` has, then removes what
/// only `before` has. What both have stays in use throughout. May be repeated. Throws as
/// ConfigureL3.
void ChangeL3(const Netns& netns, const std::string& ifname, const L3Plan& before,
              const L3Plan& after);
/// Adds the addresses and routes of the plan that `link` has not. `inside` is of its namespace.
void CheckL3(RouteSocket& inside, const Link& link, const L3Plan& plan, Differences& found);

}  // namespace kuryr::binding
