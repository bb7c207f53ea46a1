#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "binding/netlink/link.h"
#include "binding/netlink/nl_ptr.h"
#include "binding/netns.h"

struct rtmsg;

namespace kuryr::binding {

struct NlAnswer;

/// A NETLINK_ROUTE socket. It stays in the network namespace it was opened in. Every request names
/// its object and waits for the kernel's acknowledgement. Only one link's addresses and a pod's
/// routes are ever dumped. Failures throw std::system_error with the kernel's errno and the object
/// in the text ("create veth tap0"). Not thread-safe: one per thread and operation.
class RouteSocket {
 public:
  /// In the calling thread's namespace.
  RouteSocket();
  [[nodiscard]] static RouteSocket OpenIn(const Netns& netns);

  [[nodiscard]] std::optional<Link> FindLink(const std::string& name);
  [[nodiscard]] std::optional<Link> FindLink(int index);
  /// Index, name, MAC, MTU and whether it is up; the rest is unset. Without the kernel's lock of
  /// links (RTNL), which ovs-vswitchd takes for each link that it lists (netdevice(7)).
  [[nodiscard]] std::optional<Link> GlanceAt(const std::string& name);
  /// The index of the link through which packets to `destination` leave; nullopt without a route.
  [[nodiscard]] std::optional<int> FindOutputLink(const IpAddress& destination);

  /// One request (veth(4)): nothing is left of it when it fails. Throws std::errc::file_exists when
  /// either name is taken in its namespace, std::errc::invalid_argument for what is no interface
  /// name.
  void CreateVeth(const VethPair& pair);
  /// In mode bridge: macvlans of one parent reach each other. Older kernels want the name to be
  /// free here and where the link is born.
  void CreateMacvlan(const StackedLink& stacked);
  /// 802.1Q. False when the parent has a link with this id already, in whichever namespace, or the
  /// name is taken.
  bool CreateVlan(const StackedLink& stacked, uint16_t vlan_id);
  /// A bridge that floods, learns nothing and waits for nothing: for two ports. Down. False when
  /// the name is taken, by whatever it be.
  bool CreateHub(const std::string& name, uint32_t group = 0);
  void SetUp(const Link& link);
  /// A port of the bridge with this index from then on.
  void SetMasterAndUp(const Link& link, int master);
  /// Makes a bridge that keeps `mac` whatever becomes its port. Without `mac` the kernel chooses
  /// it, and changes it with the ports. False when the name is taken.
  bool CreateBridgeDown(const std::string& name, const std::optional<MacAddress>& mac,
                        uint32_t group = 0);
  void SetPromiscuous(const Link& link);
  /// IFLA_BRPORT_MODE: frames may leave through the bridge's port they came in by.
  void SetHairpin(const Link& port);
  /// IFLA_IFALIAS, at most 255 bytes, and IFF_UP in one request.
  void SetAliasAndUp(const Link& link, const std::string& alias);
  /// As SetAliasAndUp, and IFLA_IFNAME, for a link that is down.
  void SetNameAliasAndUp(const Link& link, const std::string& name, const std::string& alias);
  /// Packets get their checksums (SCTP's as well) and TCP's segments before they leave `link`, not
  /// by a card (ethtool's tx-checksumming; the kernel switches TSO off with it).
  void MakeChecksums(const Link& link);
  [[nodiscard]] bool LeavesChecksums(const Link& link);
  /// Whether a filter of tc(8) sees what comes in by the link: with a limit, ovs-vswitchd's
  /// policer.
  [[nodiscard]] bool HasIngressFilter(const Link& link);
  /// One request.
  void ChangeLink(const Link& link, const LinkChange& change);
  /// False when there was no such link.
  bool DeleteLink(const std::string& name);
  bool DeleteLink(const Link& link);
  /// IFLA_GROUP: a number that stands for several links. False when there was no such link.
  bool SetGroup(const Link& link, uint32_t group);
  /// All links of the group, or none of them. False when there was none.
  bool DeleteGroup(uint32_t group);

  /// Both are set in the answer. nullopt where `pf` has no virtual function of that number, or no
  /// such settings.
  [[nodiscard]] std::optional<VfSettings> FindVf(const Link& pf, uint32_t vf);
  /// Changes what `settings` has.
  void SetVf(const Link& pf, uint32_t vf, const VfSettings& settings);

  /// The addresses of both families, with link-local ones.
  [[nodiscard]] std::vector<IpNetwork> AddressesOf(const Link& link);
  /// The index of the link that has it; nullopt where none has. A dump of the namespace's
  /// addresses.
  [[nodiscard]] std::optional<int> FindLinkWith(const IpAddress& address);
  /// Prefix length from `address`; IPv6 without duplicate address detection (IFA_F_NODAD). An
  /// address already there is fine.
  void AddAddress(const Link& link, const IpNetwork& address);
  /// False when the link has not that address with that prefix length.
  bool RemoveAddress(const Link& link, const IpNetwork& address);
  /// False when the route (or, for a default route, any default route of the family and metric) was
  /// there already.
  bool AddRoute(const Link& link, const LinkRoute& route);
  /// Adds one route with several next hops: routes that differ in their gateways alone.
  bool AddRoute(const Link& link, const std::vector<LinkRoute>& next_hops);
  /// Replaces the next hops of the route with the destination and metric of `next_hops`, or adds
  /// it.
  void ReplaceRoute(const Link& link, const std::vector<LinkRoute>& next_hops);
  /// The routes of the main table, of both families, each with its link's index. A route with
  /// several next hops comes once for each.
  [[nodiscard]] std::vector<std::pair<int, LinkRoute>> Routes();
  /// The routes of all tables but the kernel's own, "local".
  [[nodiscard]] std::vector<std::pair<int, LinkRoute>> RoutesOfAllTables();
  /// The routes of the main table that have the protocol.
  [[nodiscard]] std::vector<std::pair<int, LinkRoute>> RoutesOfProtocol(uint8_t protocol);
  /// Removes a route of the main table with this destination, protocol, metric and these next hops,
  /// through the link of this index. False when there is none.
  bool RemoveRoute(int link, const std::vector<LinkRoute>& next_hops);
  /// Has the kernel ask anew for the MAC of an address on the link of this index, and drops packets
  /// that wait for it. False when it did not know or seek that neighbour.
  bool ForgetNeighbour(int link, const IpAddress& address);
  /// nullopt without a route.
  [[nodiscard]] std::optional<FoundRoute> FindRoute(const IpAddress& destination);

 private:
  std::optional<Link> Get(nl_msg& request, const std::string& what);
  NlAnswer Add(rtnl_link& link, const std::string& what);
  bool ChangeIfThere(nl_msg& request, const std::string& what);
  std::vector<std::pair<int, LinkRoute>> RoutesOf(const rtmsg& wanted);
  uint32_t AskEthtool(const Link& link, uint32_t command, const std::string& what);

  NlSocketPtr socket_;
};

}  // namespace kuryr::binding
