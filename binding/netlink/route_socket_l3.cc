#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include <array>
#include <cstring>
#include <functional>
#include <system_error>

#include "base/error.h"
#include "binding/netlink/nl_error.h"
#include "binding/netlink/nl_transaction.h"
#include "binding/netlink/nl_value.h"
#include "binding/netlink/route_socket.h"

// Addresses and routes.

namespace kuryr::binding {
namespace {

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

RtnlNexthopPtr NexthopOf(int link, const LinkRoute& route) {
  RtnlNexthopPtr nexthop = Owned<RtnlNexthopPtr>(rtnl_route_nh_alloc());
  rtnl_route_nh_set_ifindex(nexthop.get(), link);
  if (route.gateway_on_link) rtnl_route_nh_set_flags(nexthop.get(), RTNH_F_ONLINK);
  if (route.gateway) rtnl_route_nh_set_gateway(nexthop.get(), ToNl(*route.gateway).get());
  return nexthop;
}

RtnlRoutePtr ToNl(int link, const std::vector<LinkRoute>& next_hops) {
  const LinkRoute& route = next_hops.front();
  const bool scope_link = !route.gateway && route.destination.address.family == IpFamily::kIpv4;
  RtnlRoutePtr out = Owned<RtnlRoutePtr>(rtnl_route_alloc());
  CheckNl(rtnl_route_set_dst(out.get(), ToNl(route.destination).get()), "build a route");
  rtnl_route_set_table(out.get(), route.table != 0 ? route.table : RT_TABLE_MAIN);
  rtnl_route_set_protocol(out.get(), route.protocol != 0 ? route.protocol : RTPROT_STATIC);
  if (route.metric != 0) rtnl_route_set_priority(out.get(), route.metric);
  const uint8_t scope = scope_link ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  rtnl_route_set_scope(out.get(), route.scope.value_or(scope));
  if (route.mtu != 0) rtnl_route_set_metric(out.get(), RTAX_MTU, route.mtu);
  if (route.advmss != 0) rtnl_route_set_metric(out.get(), RTAX_ADVMSS, route.advmss);
  // With one next hop libnl and the kernel take its flags from the route.
  if (route.gateway_on_link && next_hops.size() == 1)
    rtnl_route_set_flags(out.get(), RTNH_F_ONLINK);
  for (const LinkRoute& hop : next_hops)
    rtnl_route_add_nexthop(out.get(), NexthopOf(link, hop).release());
  return out;
}

std::string Describe(const char* verb, const Link& link, const std::vector<LinkRoute>& next_hops) {
  std::string via;
  for (const LinkRoute& hop : next_hops) {
    if (hop.gateway) via += (via.empty() ? " via " : " and ") + hop.gateway->ToString();
  }
  return std::string(verb) + " route " + next_hops.front().destination.ToString() + via +
         " through " + link.name;
}

/// The address in an attribute; that of no bytes ("::" or "0.0.0.0") without one.
IpAddress FromNl(int family, const nlattr* attribute) {
  IpAddress address{.family = family == AF_INET ? IpFamily::kIpv4 : IpFamily::kIpv6};
  if (attribute != nullptr && static_cast<size_t>(nla_len(attribute)) == address.size())
    std::memcpy(address.bytes.data(), nla_data(attribute), address.size());
  return address;
}

template <typename Header>
NlMsgPtr DumpRequest(int type, const Header& header) {
  NlMsgPtr request = Owned<NlMsgPtr>(nlmsg_alloc_simple(type, NLM_F_DUMP));
  Header copy = header;
  CheckNl(nlmsg_append(request.get(), &copy, sizeof copy, NLMSG_ALIGNTO), "build a request");
  return request;
}

void DumpAddresses(nl_sock& socket, const ifaddrmsg& header, const std::string& what,
                   const std::function<void(int index, const IpNetwork& address)>& take) {
  const NlMsgPtr request = DumpRequest(RTM_GETADDR, header);
  Dump(socket, *request, what, [&](nlmsghdr& message) {
    std::array<nlattr*, IFA_MAX + 1> attributes{};
    CheckNl(nlmsg_parse(&message, sizeof(ifaddrmsg), attributes.data(), IFA_MAX, nullptr), what);
    const auto* found = static_cast<const ifaddrmsg*>(nlmsg_data(&message));
    // Only IPv4, and IPv6 with a peer, has IFA_LOCAL.
    const nlattr* local = attributes[IFA_LOCAL];
    take(static_cast<int>(found->ifa_index),
         {FromNl(found->ifa_family, local != nullptr ? local : attributes[IFA_ADDRESS]),
          found->ifa_prefixlen});
  });
}

/// The kernel makes a table with its first route.
void DumpTable(nl_sock& socket, const rtmsg& header,
               const std::function<void(nlmsghdr& message)>& take) {
  const NlMsgPtr request = DumpRequest(RTM_GETROUTE, header);
  try {
    Dump(socket, *request, "list the routes", take);
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::no_such_file_or_directory) throw;
  }
}

uint32_t TableOf(const rtmsg& header, const nlattr* attribute) {
  const uint32_t table = NumberIn<uint32_t>(attribute).value_or(header.rtm_table);
  return table == RT_TABLE_MAIN ? 0 : table;
}

/// As many pairs as `attribute`, an RTA_MULTIPATH, has next hops.
void ParseNextHops(const rtmsg& header, const nlattr& attribute, LinkRoute route,
                   std::vector<std::pair<int, LinkRoute>>& found) {
  auto* hop = static_cast<rtnexthop*>(nla_data(&attribute));
  int left = nla_len(&attribute);
  while (RTNH_OK(hop, left)) {
    const nlattr* gateway = nla_find(reinterpret_cast<nlattr*>(RTNH_DATA(hop)),
                                     hop->rtnh_len - static_cast<int>(sizeof *hop), RTA_GATEWAY);
    route.gateway.reset();
    if (gateway != nullptr) route.gateway = FromNl(header.rtm_family, gateway);
    found.emplace_back(hop->rtnh_ifindex, route);
    left -= RTNH_ALIGN(hop->rtnh_len);
    hop = RTNH_NEXT(hop);
  }
}

/// The route and the link it leads through, for each next hop.
void ParseRoute(nlmsghdr& message, std::vector<std::pair<int, LinkRoute>>& found) {
  std::array<nlattr*, RTA_MAX + 1> attributes{};
  CheckNl(nlmsg_parse(&message, sizeof(rtmsg), attributes.data(), RTA_MAX, nullptr),
          "list the routes");
  const auto* header = static_cast<const rtmsg*>(nlmsg_data(&message));
  LinkRoute route{
      .destination = {FromNl(header->rtm_family, attributes[RTA_DST]), header->rtm_dst_len}};
  if (attributes[RTA_GATEWAY] != nullptr)
    route.gateway = FromNl(header->rtm_family, attributes[RTA_GATEWAY]);
  route.metric = NumberIn<uint32_t>(attributes[RTA_PRIORITY]).value_or(0);
  route.table = TableOf(*header, attributes[RTA_TABLE]);
  route.protocol = header->rtm_protocol;
  if (attributes[RTA_MULTIPATH] != nullptr) {
    ParseNextHops(*header, *attributes[RTA_MULTIPATH], route, found);
  } else {
    found.emplace_back(NumberIn<int>(attributes[RTA_OIF]).value_or(0), route);
  }
}

NlMsgPtr RouteRequest(const IpAddress& destination, uint32_t flags, const std::string& what) {
  NlMsgPtr request = Owned<NlMsgPtr>(nlmsg_alloc_simple(RTM_GETROUTE, 0));
  rtmsg header{.rtm_family = static_cast<uint8_t>(FamilyOf(destination)),
               .rtm_dst_len = static_cast<uint8_t>(destination.size() * 8),
               .rtm_flags = flags};
  CheckNl(nlmsg_append(request.get(), &header, sizeof header, NLMSG_ALIGNTO), what);
  CheckNl(nla_put(request.get(), RTA_DST, static_cast<int>(destination.size()),
                  destination.bytes.data()),
          what);
  return request;
}

}  // namespace

std::optional<int> RouteSocket::FindOutputLink(const IpAddress& destination) {
  const std::string what = "find the route to " + destination.ToString();
  const NlAnswer answer = Transact(*socket_, *RouteRequest(destination, 0, what), what);
  // "No" has many words here: unreachable net or host, prohibited, a black hole, no such family.
  if (answer.error != 0 || !answer.object) return std::nullopt;
  return NumberIn<int>(nlmsg_find_attr(nlmsg_hdr(answer.object.get()), sizeof(rtmsg), RTA_OIF));
}

bool RouteSocket::ForgetNeighbour(int link, const IpAddress& address) {
  const std::string what = "forget neighbour " + address.ToString();
  NlMsgPtr request = Owned<NlMsgPtr>(nlmsg_alloc_simple(RTM_DELNEIGH, 0));
  ndmsg header{.ndm_family = static_cast<uint8_t>(FamilyOf(address)), .ndm_ifindex = link};
  CheckNl(nlmsg_append(request.get(), &header, sizeof header, NLMSG_ALIGNTO), what);
  CheckNl(nla_put(request.get(), NDA_DST, static_cast<int>(address.size()), address.bytes.data()),
          what);
  const NlAnswer answer = Transact(*socket_, *request, what);
  if (answer.error == ENOENT) return false;
  CheckAnswer(answer, what);
  return true;
}

std::optional<FoundRoute> RouteSocket::FindRoute(const IpAddress& destination) {
  const std::string what = "find the route to " + destination.ToString();
  const NlAnswer answer =
      Transact(*socket_, *RouteRequest(destination, RTM_F_FIB_MATCH, what), what);
  if (answer.error != 0 || !answer.object) return std::nullopt;
  nlmsghdr& message = *nlmsg_hdr(answer.object.get());
  std::vector<std::pair<int, LinkRoute>> hops;
  ParseRoute(message, hops);
  const auto* header = static_cast<const rtmsg*>(nlmsg_data(&message));
  FoundRoute found{.route = hops.empty() ? LinkRoute{} : hops.front().second};
  if (hops.size() != 1 || header->rtm_type != RTN_UNICAST) return found;
  found.link = hops.front().first;
  const bool has_router = nlmsg_find_attr(&message, sizeof(rtmsg), RTA_GATEWAY) != nullptr ||
                          nlmsg_find_attr(&message, sizeof(rtmsg), RTA_VIA) != nullptr;
  found.on_link = !has_router && found.link != 0;
  return found;
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

bool RouteSocket::RemoveAddress(const Link& link, const IpNetwork& address) {
  const std::string what = "remove address " + address.ToString() + " from " + link.name;
  const RtnlAddrPtr object = Owned<RtnlAddrPtr>(rtnl_addr_alloc());
  rtnl_addr_set_ifindex(object.get(), link.index);
  CheckNl(rtnl_addr_set_local(object.get(), ToNl(address).get()), what);
  nl_msg* request = nullptr;
  CheckNl(rtnl_addr_build_delete_request(object.get(), 0, &request), what);
  const NlAnswer answer = Transact(*socket_, *NlMsgPtr(request), what);
  if (answer.error == EADDRNOTAVAIL) return false;
  CheckAnswer(answer, what);
  return true;
}

bool RouteSocket::AddRoute(const Link& link, const LinkRoute& route) {
  return AddRoute(link, std::vector<LinkRoute>{route});
}

bool RouteSocket::AddRoute(const Link& link, const std::vector<LinkRoute>& next_hops) {
  const std::string what = Describe("add", link, next_hops);
  nl_msg* request = nullptr;
  CheckNl(rtnl_route_build_add_request(ToNl(link.index, next_hops).get(), NLM_F_EXCL, &request),
          what);
  const NlAnswer answer = Transact(*socket_, *NlMsgPtr(request), what);
  if (answer.error == EEXIST) return false;
  CheckAnswer(answer, what);
  return true;
}

std::vector<IpNetwork> RouteSocket::AddressesOf(const Link& link) {
  const ifaddrmsg header{.ifa_index = static_cast<uint32_t>(link.index)};
  std::vector<IpNetwork> found;
  DumpAddresses(*socket_, header, "list the addresses of " + link.name,
                [&](int index, const IpNetwork& address) {
                  // A kernel that does not check strictly tells of all links.
                  if (index == link.index) found.push_back(address);
                });
  return found;
}

std::optional<int> RouteSocket::FindLinkWith(const IpAddress& address) {
  std::optional<int> found;
  DumpAddresses(*socket_, ifaddrmsg{}, "find the link with address " + address.ToString(),
                [&](int index, const IpNetwork& other) {
                  if (other.address == address) found = index;
                });
  return found;
}

void RouteSocket::ReplaceRoute(const Link& link, const std::vector<LinkRoute>& next_hops) {
  const std::string what = Describe("replace", link, next_hops);
  nl_msg* request = nullptr;
  CheckNl(rtnl_route_build_add_request(ToNl(link.index, next_hops).get(), NLM_F_REPLACE, &request),
          what);
  CheckAnswer(Transact(*socket_, *NlMsgPtr(request), what), what);
}

bool RouteSocket::RemoveRoute(int link, const std::vector<LinkRoute>& next_hops) {
  const std::string what = "remove route " + next_hops.at(0).destination.ToString();
  nl_msg* request = nullptr;
  CheckNl(rtnl_route_build_del_request(ToNl(link, next_hops).get(), 0, &request), what);
  const NlAnswer answer = Transact(*socket_, *NlMsgPtr(request), what);
  if (answer.error == ESRCH || answer.error == ENETUNREACH || answer.error == EHOSTUNREACH)
    return false;
  CheckAnswer(answer, what);
  return true;
}

std::vector<std::pair<int, LinkRoute>> RouteSocket::Routes() {
  return RoutesOf({.rtm_table = RT_TABLE_MAIN});
}

std::vector<std::pair<int, LinkRoute>> RouteSocket::RoutesOfAllTables() {
  return RoutesOf({.rtm_table = RT_TABLE_UNSPEC});
}

std::vector<std::pair<int, LinkRoute>> RouteSocket::RoutesOfProtocol(uint8_t protocol) {
  return RoutesOf({.rtm_table = RT_TABLE_MAIN, .rtm_protocol = protocol});
}

/// Kernels before 4.20 list the routes of all tables and protocols.
std::vector<std::pair<int, LinkRoute>> RouteSocket::RoutesOf(const rtmsg& wanted) {
  std::vector<std::pair<int, LinkRoute>> found;
  const auto is_wanted = [&](const rtmsg& route) {
    if (wanted.rtm_protocol != 0 && route.rtm_protocol != wanted.rtm_protocol) return false;
    return wanted.rtm_table == RT_TABLE_UNSPEC ? route.rtm_table != RT_TABLE_LOCAL
                                               : route.rtm_table == wanted.rtm_table;
  };
  for (const uint8_t family : {uint8_t{AF_INET}, uint8_t{AF_INET6}}) {
    rtmsg header = wanted;
    header.rtm_family = family;
    DumpTable(*socket_, header, [&](nlmsghdr& message) {
      if (is_wanted(*static_cast<const rtmsg*>(nlmsg_data(&message)))) ParseRoute(message, found);
    });
  }
  return found;
}

}  // namespace kuryr::binding
