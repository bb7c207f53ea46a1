#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ip.h"
#include "base/mac.h"

namespace kuryr::binding {

/// One network interface as the kernel describes it (rtnetlink(7), RTM_NEWLINK).
struct Link {
  int index = 0;
  std::string name;
  std::string kind;    ///< IFLA_INFO_KIND: "veth", "vlan", ...; empty for a physical device
  std::string alias;   ///< IFLA_IFALIAS
  uint32_t group = 0;  ///< IFLA_GROUP: a number that several links may share
  MacAddress mac;
  uint32_t mtu = 0;
  bool up = false;           ///< IFF_UP
  bool has_carrier = false;  ///< IFF_LOWER_UP
  bool running = false;      ///< IFF_RUNNING: the kernel has noticed both, and packets pass
  int lower = 0;  ///< IFLA_LINK: the parent's or veth peer's index, in that one's namespace; or 0
  bool lower_is_elsewhere = false;  ///< IFLA_LINK_NETNSID: `lower` is of another namespace
  int master = 0;                   ///< IFLA_MASTER: the bridge's index; or 0
  std::string qdisc;                ///< IFLA_QDISC: the kind of the queueing of what leaves it
  uint16_t vlan_id = 0;             ///< IFLA_VLAN_ID of a VLAN; or 0
  /// IFLA_PARENT_DEV_NAME: the device's name on its bus, such as a PCI address; empty for what is
  /// virtual, and before Linux 5.14.
  std::string parent_device;

  bool operator==(const Link&) const = default;
};

/// A veth pair to be made: one end here, the other born in the namespace `peer_netns_fd` (-1: this
/// one).
struct VethPair {
  std::string name;
  std::string peer_name;
  int peer_netns_fd = -1;
  std::optional<MacAddress> peer_mac;  ///< the kernel's choice when absent
  std::optional<uint32_t> mtu;         ///< both ends'; the kernel's default when absent
  int master = 0;                      ///< index of the bridge that `name` becomes a port of
  uint32_t group = 0;                  ///< Link::group of both ends, from their birth on
};

/// A link to be made on top of another one: born in the namespace `netns_fd` (-1: here), while its
/// parent stays here.
struct StackedLink {
  std::string name;
  Link parent;
  int netns_fd = -1;
  std::optional<MacAddress> mac;
  std::optional<uint32_t> mtu;  ///< the parent's when absent
  uint32_t group = 0;           ///< Link::group, from its birth on
};

/// Changes of a link; unset members stay as they are. The kernel makes the changes in this order.
/// When one fails, those before it stay.
struct LinkChange {
  std::optional<int> netns_fd;  ///< moved there, which also sets it down and takes its addresses
  std::optional<MacAddress> mac;
  std::optional<uint32_t> mtu;
  std::optional<std::string> name;   ///< only for a link that is down
  std::optional<std::string> alias;  ///< at most 255 bytes; empty: none
  std::optional<bool> up;

  bool operator==(const LinkChange&) const = default;
};

/// Settings that a physical function enforces for one of its virtual functions (`ip link` shows
/// them). The MAC of zeros and VLAN 0 stand for none.
struct VfSettings {
  std::optional<MacAddress> mac;
  std::optional<uint16_t> vlan;

  bool operator==(const VfSettings&) const = default;
};

/// A unicast route through one interface; on-link when there is no gateway.
struct LinkRoute {
  IpNetwork destination;
  std::optional<IpAddress> gateway;
  /// RTNH_F_ONLINK: the gateway is reachable though no prefix covers it.
  bool gateway_on_link = false;
  uint32_t metric = 0;           ///< RTA_PRIORITY; 0 is the kernel's choice: 0, for IPv6 1024
  uint32_t table = 0;            ///< 0: the main one
  uint32_t mtu = 0;              ///< RTAX_MTU; 0: the interface's
  uint32_t advmss = 0;           ///< RTAX_ADVMSS; 0: the kernel's choice
  std::optional<uint8_t> scope;  ///< RT_SCOPE_...; absent: what the gateway asks for
  uint8_t protocol = 0;          ///< RTPROT_...: the route's maker; 0: RTPROT_STATIC
};

/// The route by which the kernel forwards packets to an address.
struct FoundRoute {
  LinkRoute route;
  int link = 0;          ///< index; 0: packets are refused, or the route has several next hops
  bool on_link = false;  ///< a neighbour on the link, and no router, takes the packets
};

}  // namespace kuryr::binding
