#include "binding/netlink/route_socket.h"

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/route/link/veth.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "binding/netlink/nl_error.h"
#include "binding/netlink/nl_transaction.h"

namespace kuryr::binding {
namespace {

using Attributes = std::array<nlattr*, IFLA_MAX + 1>;

// libnl cuts a long name short, and the kernel counts up a '%d'.
void CheckNewName(const std::string& name, const std::string& what) {
  if (name.empty() || name.size() >= IFNAMSIZ || name.find('%') != std::string::npos)
    ThrowErrno(EINVAL, what + " (\"" + Printable(name) + "\" is no interface name)");
}

// A change names its link by index: rtnl_link_change() compares two objects to find what differs,
// and ignores the first one's name.
NlMsgPtr LinkRequest(int type, int flags, const ifinfomsg& header) {
  NlMsgPtr message = Owned<NlMsgPtr>(nlmsg_alloc_simple(type, flags));
  ifinfomsg copy = header;
  CheckNl(nlmsg_append(message.get(), &copy, sizeof copy, NLMSG_ALIGNTO), "build a link request");
  return message;
}

NlMsgPtr SetUpRequest(const Link& link) {
  return LinkRequest(RTM_NEWLINK, 0,
                     {.ifi_index = link.index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP});
}

std::string TextOf(const nlattr* attribute) {
  if (attribute == nullptr) return {};
  const char* data = static_cast<const char*>(nla_data(attribute));
  return {data, ::strnlen(data, static_cast<size_t>(nla_len(attribute)))};
}

std::string KindOf(nlattr* link_info) {
  std::array<nlattr*, IFLA_INFO_MAX + 1> nested{};
  if (link_info == nullptr) return {};
  if (nla_parse_nested(nested.data(), IFLA_INFO_MAX, link_info, nullptr) < 0) return {};
  return TextOf(nested[IFLA_INFO_KIND]);
}

Link ParseLink(nl_msg& message, const std::string& what) {
  nlmsghdr* header = nlmsg_hdr(&message);
  Attributes attributes{};
  CheckNl(nlmsg_parse(header, sizeof(ifinfomsg), attributes.data(), IFLA_MAX, nullptr), what);
  const auto* info = static_cast<const ifinfomsg*>(nlmsg_data(header));
  Link link;
  link.index = info->ifi_index;
  link.up = (info->ifi_flags & IFF_UP) != 0;
  link.name = TextOf(attributes[IFLA_IFNAME]);
  link.alias = TextOf(attributes[IFLA_IFALIAS]);
  link.kind = KindOf(attributes[IFLA_LINKINFO]);
  if (const nlattr* mtu = attributes[IFLA_MTU]; mtu != nullptr) link.mtu = nla_get_u32(mtu);
  const nlattr* mac = attributes[IFLA_ADDRESS];
  // Tunnels and the like have addresses of other lengths.
  if (mac != nullptr && static_cast<size_t>(nla_len(mac)) == link.mac.bytes.size())
    std::memcpy(link.mac.bytes.data(), nla_data(mac), link.mac.bytes.size());
  return link;
}

int FamilyOf(const IpAddress& address) {
  return address.family == IpFamily::kIpv4 ? AF_INET : AF_INET6;
}

NlAddrPtr ToNl(const IpNetwork& network) {
  const IpAddress& address = network.address;
  NlAddrPtr out =
      Owned<NlAddrPtr>(nl_addr_build(FamilyOf(address), address.bytes.data(), address.size()));
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

}  // namespace

RouteSocket::RouteSocket() : socket_(OpenRouteSocket()) {}

RouteSocket RouteSocket::OpenIn(const Netns& netns) {
  const NetnsGuard guard(netns);
  return {};
}

std::optional<Link> RouteSocket::FindLink(const std::string& name) {
  const std::string what = "find link " + Printable(name);
  const NlMsgPtr request = LinkRequest(RTM_GETLINK, 0, {});
  CheckNl(nla_put_string(request.get(), IFLA_IFNAME, name.c_str()), what);
  CheckNl(nla_put_u32(request.get(), IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS), what);
  const NlAnswer answer = Transact(*socket_, *request, what);
  if (answer.error == ENODEV) return std::nullopt;
  CheckAnswer(answer, what);
  return ParseLink(*answer.object, what);
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
  nl_msg* request = nullptr;
  CheckNl(rtnl_link_build_add_request(link.get(), NLM_F_CREATE | NLM_F_EXCL, &request), what);
  CheckAnswer(Transact(*socket_, *NlMsgPtr(request), what), what);
}

void RouteSocket::SetUp(const Link& link) {
  const std::string what = "set up " + link.name;
  CheckAnswer(Transact(*socket_, *SetUpRequest(link), what), what);
}

void RouteSocket::SetAliasAndUp(const Link& link, const std::string& alias) {
  const std::string what = "set alias of " + link.name + " and set it up";
  const NlMsgPtr request = SetUpRequest(link);
  CheckNl(nla_put(request.get(), IFLA_IFALIAS, static_cast<int>(alias.size()), alias.data()), what);
  CheckAnswer(Transact(*socket_, *request, what), what);
}

bool RouteSocket::DeleteLink(const std::string& name) {
  const std::string what = "delete link " + Printable(name);
  const NlMsgPtr request = LinkRequest(RTM_DELLINK, 0, {});
  CheckNl(nla_put_string(request.get(), IFLA_IFNAME, name.c_str()), what);
  const NlAnswer answer = Transact(*socket_, *request, what);
  if (answer.error == ENODEV) return false;
  CheckAnswer(answer, what);
  return true;
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
