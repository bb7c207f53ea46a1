#include "binding/netlink/route_socket.h"

#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/route/link/bridge.h>
#include <netlink/route/link/macvlan.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/link/vlan.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "binding/netlink/link_message.h"
#include "binding/netlink/nl_error.h"
#include "binding/netlink/nl_transaction.h"

namespace kuryr::binding {
namespace {

// libnl cuts a long name short, and the kernel counts up a '%d'.
void CheckNewName(const std::string& name, const std::string& what) {
  if (name.empty() || name.size() >= IFNAMSIZ || name.find('%') != std::string::npos)
    ThrowErrno(EINVAL, what + " (\"" + Printable(name) + "\" is no interface name)");
}

int FamilyOf(IpFamily family) { return family == IpFamily::kIpv4 ? AF_INET : AF_INET6; }

NlAddrPtr ToNl(const IpNetwork& network) {
  const IpAddress& address = network.address;
  NlAddrPtr out = Owned<NlAddrPtr>(
      nl_addr_build(FamilyOf(address.family), address.bytes.data(), address.size()));
  nl_addr_set_prefixlen(out.get(), network.prefix_length);
  return out;
}

NlAddrPtr ToNl(const IpAddress& address) {
  return ToNl(IpNetwork{address, static_cast<uint8_t>(address.size() * 8)});
}

RtnlNexthopPtr NexthopOf(const Link& link, const LinkRoute& route) {
  RtnlNexthopPtr nexthop = Owned<RtnlNexthopPtr>(rtnl_route_nh_alloc());
  rtnl_route_nh_set_ifindex(nexthop.get(), link.index);
  if (route.gateway) rtnl_route_nh_set_gateway(nexthop.get(), ToNl(*route.gateway).get());
  return nexthop;
}

RtnlRoutePtr ToNl(const Link& link, const LinkRoute& route) {
  const bool scope_link = !route.gateway && route.destination.address.family == IpFamily::kIpv4;
  RtnlRoutePtr out = Owned<RtnlRoutePtr>(rtnl_route_alloc());
  CheckNl(rtnl_route_set_dst(out.get(), ToNl(route.destination).get()), "build a route");
  rtnl_route_set_table(out.get(), RT_TABLE_MAIN);
  rtnl_route_set_protocol(out.get(), RTPROT_STATIC);
  rtnl_route_set_scope(out.get(), scope_link ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE);
  // With one next hop libnl and the kernel take its flags from the route.
  if (route.gateway_on_link) rtnl_route_set_flags(out.get(), RTNH_F_ONLINK);
  rtnl_route_add_nexthop(out.get(), NexthopOf(link, route).release());
  return out;
}

std::string Describe(const Link& link, const LinkRoute& route) {
  const std::string via = route.gateway ? " via " + route.gateway->ToString() : "";
  return "add route " + route.destination.ToString() + via + " through " + link.name;
}

void SetEthernetAddress(rtnl_link& link, const MacAddress& mac) {
  rtnl_link_set_addr(
      &link, Owned<NlAddrPtr>(nl_addr_build(AF_LLC, mac.bytes.data(), mac.bytes.size())).get());
}

/// What every link on top of another has.
void Describe(const StackedLink& stacked, rtnl_link& link, const std::string& what) {
  CheckNewName(stacked.name, what);
  rtnl_link_set_name(&link, stacked.name.c_str());
  rtnl_link_set_link(&link, stacked.parent.index);
  if (stacked.netns_fd >= 0) rtnl_link_set_ns_fd(&link, stacked.netns_fd);
  if (stacked.mac) SetEthernetAddress(link, *stacked.mac);
  if (stacked.mtu) rtnl_link_set_mtu(&link, *stacked.mtu);
}

}  // namespace

RouteSocket::RouteSocket() : socket_(OpenNlSocket(NETLINK_ROUTE)) {}

RouteSocket RouteSocket::OpenIn(const Netns& netns) {
  const NetnsGuard guard(netns);
  return {};
}

std::optional<Link> RouteSocket::FindLink(const std::string& name) {
  const std::string what = "find link " + Printable(name);
  const NlMsgPtr request = LinkRequest(RTM_GETLINK, {});
  CheckNl(nla_put_string(request.get(), IFLA_IFNAME, name.c_str()), what);
  return Get(*request, what);
}

std::optional<Link> RouteSocket::FindLink(int index) {
  if (index <= 0) return std::nullopt;
  return Get(*LinkRequest(RTM_GETLINK, {.ifi_index = index}),
             "find link number " + std::to_string(index));
}

std::optional<Link> RouteSocket::Get(nl_msg& request, const std::string& what) {
  CheckNl(nla_put_u32(&request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS), what);
  const NlAnswer answer = Transact(*socket_, request, what);
  if (answer.error == ENODEV) return std::nullopt;
  CheckAnswer(answer, what);
  return ParseLink(*answer.object, what);
}

std::optional<int> RouteSocket::FindOutputLink(const IpAddress& destination) {
  const std::string what = "find the route to " + destination.ToString();
  const NlMsgPtr request = Owned<NlMsgPtr>(nlmsg_alloc_simple(RTM_GETROUTE, 0));
  rtmsg header{.rtm_family = static_cast<uint8_t>(FamilyOf(destination.family)),
               .rtm_dst_len = static_cast<uint8_t>(destination.size() * 8)};
  CheckNl(nlmsg_append(request.get(), &header, sizeof header, NLMSG_ALIGNTO), what);
  CheckNl(nla_put(request.get(), RTA_DST, static_cast<int>(destination.size()),
                  destination.bytes.data()),
          what);
  const NlAnswer answer = Transact(*socket_, *request, what);
  // "No" has many words here: unreachable net or host, prohibited, a black hole, no such family.
  if (answer.error != 0 || !answer.object) return std::nullopt;
  const nlattr* link = nlmsg_find_attr(nlmsg_hdr(answer.object.get()), sizeof header, RTA_OIF);
  if (link == nullptr) return std::nullopt;
  return static_cast<int>(nla_get_u32(link));
}

NlAnswer RouteSocket::Add(rtnl_link& link, const std::string& what) {
  nl_msg* request = nullptr;
  CheckNl(rtnl_link_build_add_request(&link, NLM_F_CREATE | NLM_F_EXCL, &request), what);
  return Transact(*socket_, *NlMsgPtr(request), what);
}

void RouteSocket::CreateVeth(const VethPair& pair) {
  const std::string what =
      "create veth " + Printable(pair.name) + " with peer " + Printable(pair.peer_name);
  CheckNewName(pair.name, what);
  CheckNewName(pair.peer_name, what);
  const RtnlLinkPtr link = Owned<RtnlLinkPtr>(rtnl_link_veth_alloc());
  const RtnlLinkPtr peer = Owned<RtnlLinkPtr>(rtnl_link_veth_get_peer(link.get()));
  rtnl_link_set_name(link.get(), pair.name.c_str());
  rtnl_link_set_name(peer.get(), pair.peer_name.c_str());
  if (pair.peer_netns_fd >= 0) rtnl_link_set_ns_fd(peer.get(), pair.peer_netns_fd);
  if (pair.peer_mac) SetEthernetAddress(*peer, *pair.peer_mac);
  if (pair.mtu) {
    rtnl_link_set_mtu(link.get(), *pair.mtu);
    rtnl_link_set_mtu(peer.get(), *pair.mtu);
  }
  if (pair.master != 0) rtnl_link_set_master(link.get(), pair.master);
  CheckAnswer(Add(*link, what), what);
}

void RouteSocket::CreateMacvlan(const StackedLink& stacked) {
  const std::string what = "create macvlan " + stacked.name + " on " + stacked.parent.name;
  const RtnlLinkPtr link = Owned<RtnlLinkPtr>(rtnl_link_macvlan_alloc());
  CheckNl(rtnl_link_macvlan_set_mode(link.get(), MACVLAN_MODE_BRIDGE), what);
  Describe(stacked, *link, what);
  CheckAnswer(Add(*link, what), what);
}

bool RouteSocket::CreateVlan(const StackedLink& stacked, uint16_t vlan_id) {
  const std::string what =
      "create VLAN " + std::to_string(vlan_id) + " " + stacked.name + " on " + stacked.parent.name;
  const RtnlLinkPtr link = Owned<RtnlLinkPtr>(rtnl_link_vlan_alloc());
  CheckNl(rtnl_link_vlan_set_id(link.get(), vlan_id), what);
  Describe(stacked, *link, what);
  const NlAnswer answer = Add(*link, what);
  if (answer.error == EEXIST) return false;
  CheckAnswer(answer, what);
  return true;
}

bool RouteSocket::CreateBridge(const std::string& name) {
  const RtnlLinkPtr link = Owned<RtnlLinkPtr>(rtnl_link_bridge_alloc());
  rtnl_link_set_flags(link.get(), IFF_UP);
  return AddBridge(*link, name);
}

bool RouteSocket::CreateBridgeDown(const std::string& name, const std::optional<MacAddress>& mac) {
  const RtnlLinkPtr link = Owned<RtnlLinkPtr>(rtnl_link_bridge_alloc());
  if (mac) SetEthernetAddress(*link, *mac);
  return AddBridge(*link, name);
}

bool RouteSocket::AddBridge(rtnl_link& link, const std::string& name) {
  const std::string what = "create bridge " + Printable(name);
  CheckNewName(name, what);
  rtnl_link_set_name(&link, name.c_str());
  const NlAnswer answer = Add(link, what);
  if (answer.error == EEXIST) return false;
  CheckAnswer(answer, what);
  return true;
}

void RouteSocket::SetUp(const Link& link) {
  const std::string what = "set up " + link.name;
  CheckAnswer(Transact(*socket_, *SetUpRequest(link), what), what);
}

void RouteSocket::SetMtuAndUp(const Link& link, uint32_t mtu) {
  const std::string what = "set the MTU of " + link.name + " to " + std::to_string(mtu);
  const NlMsgPtr request = SetUpRequest(link);
  CheckNl(nla_put_u32(request.get(), IFLA_MTU, mtu), what);
  CheckAnswer(Transact(*socket_, *request, what), what);
}

void RouteSocket::SetPromiscuous(const Link& link) {
  const std::string what = "set " + link.name + " promiscuous";
  const NlMsgPtr request = LinkRequest(
      RTM_NEWLINK, {.ifi_index = link.index, .ifi_flags = IFF_PROMISC, .ifi_change = IFF_PROMISC});
  CheckAnswer(Transact(*socket_, *request, what), what);
}

void RouteSocket::SetHairpin(const Link& port) {
  const std::string what = "set bridge port " + port.name + " to hairpin mode";
  const NlMsgPtr request =
      LinkRequest(RTM_SETLINK, {.ifi_family = AF_BRIDGE, .ifi_index = port.index});
  nlattr* settings = nla_nest_start(request.get(), IFLA_PROTINFO);
  CheckNl(nla_put_u8(request.get(), IFLA_BRPORT_MODE, 1), what);
  CheckNl(nla_nest_end(request.get(), settings), what);
  CheckAnswer(Transact(*socket_, *request, what), what);
}

void RouteSocket::SetAliasAndUp(const Link& link, const std::string& alias) {
  const std::string what = "set alias of " + link.name + " and set it up";
  const NlMsgPtr request = SetUpRequest(link);
  CheckNl(nla_put(request.get(), IFLA_IFALIAS, static_cast<int>(alias.size()), alias.data()), what);
  CheckAnswer(Transact(*socket_, *request, what), what);
}

void RouteSocket::SetNameAliasAndUp(const Link& link, const std::string& name,
                                    const std::string& alias) {
  const std::string what = "name link " + link.name + " " + Printable(name) + " and set it up";
  CheckNewName(name, what);
  const NlMsgPtr request = SetUpRequest(link);
  CheckNl(nla_put_string(request.get(), IFLA_IFNAME, name.c_str()), what);
  CheckNl(nla_put(request.get(), IFLA_IFALIAS, static_cast<int>(alias.size()), alias.data()), what);
  CheckAnswer(Transact(*socket_, *request, what), what);
}

bool RouteSocket::DeleteLink(const std::string& name) {
  const std::string what = "delete link " + Printable(name);
  const NlMsgPtr request = LinkRequest(RTM_DELLINK, {});
  CheckNl(nla_put_string(request.get(), IFLA_IFNAME, name.c_str()), what);
  const NlAnswer answer = Transact(*socket_, *request, what);
  if (answer.error == ENODEV) return false;
  CheckAnswer(answer, what);
  return true;
}

std::vector<IpNetwork> RouteSocket::AddressesOf(const Link& link, IpFamily family) {
  const std::string what = "list the addresses of " + link.name;
  const NlMsgPtr request = Owned<NlMsgPtr>(nlmsg_alloc_simple(RTM_GETADDR, 0));
  ifaddrmsg header{.ifa_family = static_cast<uint8_t>(FamilyOf(family)),
                   .ifa_index = static_cast<uint32_t>(link.index)};
  CheckNl(nlmsg_append(request.get(), &header, sizeof header, NLMSG_ALIGNTO), what);
  std::vector<IpNetwork> addresses;
  for (const NlMsgPtr& answer : Dump(*socket_, *request, what)) {
    nlmsghdr* message = nlmsg_hdr(answer.get());
    const auto* found = static_cast<const ifaddrmsg*>(nlmsg_data(message));
    // A kernel that does not check strictly tells of all links.
    if (found->ifa_index != header.ifa_index || found->ifa_family != header.ifa_family) continue;
    const nlattr* address = nlmsg_find_attr(message, sizeof *found, IFA_LOCAL);
    // Only IPv4, and IPv6 with a peer, has IFA_LOCAL.
    if (address == nullptr) address = nlmsg_find_attr(message, sizeof *found, IFA_ADDRESS);
    IpNetwork network{.address = {.family = family}, .prefix_length = found->ifa_prefixlen};
    if (address == nullptr || static_cast<size_t>(nla_len(address)) != network.address.size())
      continue;
    std::memcpy(network.address.bytes.data(), nla_data(address), network.address.size());
    addresses.push_back(network);
  }
  return addresses;
}

void RouteSocket::AddAddress(const Link& link, const IpNetwork& address) {
  const std::string what = "add address " + address.ToString() + " to " + link.name;
  const RtnlAddrPtr object = Owned<RtnlAddrPtr>(rtnl_addr_alloc());
  rtnl_addr_set_ifindex(object.get(), link.index);
  CheckNl(rtnl_addr_set_local(object.get(), ToNl(address).get()), what);
  rtnl_addr_set_scope(object.get(), RT_SCOPE_UNIVERSE);
  if (address.address.family == IpFamily::kIpv6) rtnl_addr_set_flags(object.get(), IFA_F_NODAD);
  nl_msg* request = nullptr;
  CheckNl(rtnl_addr_build_add_request(object.get(), NLM_F_REPLACE, &request), what);
  CheckAnswer(Transact(*socket_, *NlMsgPtr(request), what), what);
}

bool RouteSocket::AddRoute(const Link& link, const LinkRoute& route) {
  const std::string what = Describe(link, route);
  nl_msg* request = nullptr;
  CheckNl(rtnl_route_build_add_request(ToNl(link, route).get(), NLM_F_EXCL, &request), what);
  const NlAnswer answer = Transact(*socket_, *NlMsgPtr(request), what);
  if (answer.error == EEXIST) return false;
  CheckAnswer(answer, what);
  return true;
}

}  // namespace kuryr::binding
