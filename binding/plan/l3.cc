#include "binding/plan/l3.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "binding/netlink/route_socket.h"
#include "binding/netlink/sysctl.h"

namespace kuryr::binding {
namespace {

/// Above what the kernel gives to IPv4 (0) and IPv6 routes (1024) without one.
constexpr uint32_t kOtherVifsMetric = 1024;
/// Less than what one message to the kernel holds.
constexpr size_t kMostNextHops = 64;

std::optional<IpAddress> GatewayOf(const vif::Field<IpAddress>& field) {
  if (!field.has_value() || field->bytes == IpAddress().bytes) return std::nullopt;
  return *field;
}

void PlanAddresses(const vif::VifBase& vif, const vif::Subnet& subnet, const std::string& path,
                   L3Plan& plan) {
  const IpNetwork& cidr = vif::Required(subnet.cidr, path + ".cidr");
  for (const IpNetwork& address : vif::FixedIpsOf(vif, subnet)) {
    if (address.address.family != cidr.address.family) {
      throw ParseError(path + ".ips",
                       address.address.ToString() + " is not of the family of " + cidr.ToString());
    }
    plan.addresses.push_back({.network = address, .gateway = GatewayOf(subnet.gateway)});
  }
}

void PlanDefaultRoute(const IpAddress& gateway, L3Plan& plan) {
  const IpNetwork everywhere = IpNetwork::Default(gateway.family);
  const bool known =
      std::any_of(plan.routes.begin(), plan.routes.end(),
                  [&](const LinkRoute& route) { return route.destination == everywhere; });
  if (!known) plan.routes.push_back({.destination = everywhere, .gateway = gateway});
}

void PlanRoutes(const vif::Subnet& subnet, const std::string& path, L3Plan& plan) {
  size_t number = 0;
  if (subnet.routes.has_value()) {
    for (const vif::Route& route : *subnet.routes) {
      const std::string route_path = path + ".routes[" + std::to_string(number++) + "]";
      plan.routes.push_back({.destination = vif::Required(route.cidr, route_path + ".cidr"),
                             .gateway = GatewayOf(route.gateway)});
    }
  }
  const auto gateway = GatewayOf(subnet.gateway);
  if (plan.is_default && gateway) PlanDefaultRoute(*gateway, plan);
}

void PlanNameservers(const vif::Subnet& subnet, L3Plan& plan) {
  if (!subnet.dns.has_value()) return;
  plan.nameservers.insert(plan.nameservers.end(), subnet.dns->begin(), subnet.dns->end());
}

bool IsLinkLocal(const IpAddress& address) {
  static const IpNetwork kLinkLocal = IpNetwork::Parse("fe80::/10").value();
  return kLinkLocal.Contains(address);
}

/// Whether the kernel would find `gateway` on the link by itself.
bool IsReachable(const L3Plan& plan, const IpAddress& gateway) {
  return IsLinkLocal(gateway) ||
         std::any_of(plan.addresses.begin(), plan.addresses.end(),
                     [&](const auto& address) { return address.network.Contains(gateway); }) ||
         std::any_of(plan.routes.begin(), plan.routes.end(), [&](const LinkRoute& route) {
           return !route.gateway && route.destination.Contains(gateway);
         });
}

/// The plan has compared the network's MTU. Only now is the MTU of the link below known.
void RequireMtuForIpv6(const Link& link, const IpNetwork& address) {
  if (link.mtu >= kLeastIpv6Mtu) return;
  ThrowErrno(EINVAL, "give address " + address.ToString() + " to " + link.name + ", whose MTU " +
                         std::to_string(link.mtu) + " is below IPv6's " +
                         std::to_string(kLeastIpv6Mtu) +
                         " (network_device_mtu, or that of the bridge or link below)");
}

/// In the calling thread's namespace. A kernel without the setting has no IPv6, and refuses the
/// address by name.
void EnableIpv6(const std::string& conf) {
  SetSysctl("net/ipv6/conf/" + conf + "/disable_ipv6", '0');
}

/// In the calling thread's namespace. IPv4 accepts redirects where either `all` or the link does.
void RefuseRedirects(const std::string& ifname) {
  for (const std::string& conf : {std::string("all"), ifname})
    SetSysctl("net/ipv4/conf/" + conf + "/accept_redirects", '0');
}

void SetLoopbackUp(RouteSocket& socket) {
  const std::optional<Link> loopback = socket.GlanceAt("lo");
  if (loopback && !loopback->up) socket.SetUp(*loopback);
}

std::string Describe(const LinkRoute& route) {
  const std::string gateway = route.gateway ? " via " + route.gateway->ToString() : "";
  return "route " + route.destination.ToString() + gateway;
}

bool HasSameAttributes(const LinkRoute& a, const LinkRoute& b) {
  return a.mtu == b.mtu && a.advmss == b.advmss && a.scope == b.scope;
}

/// In the order of their first next hops: a later route's gateway may be reachable by an earlier
/// one. No next hop is there twice.
std::vector<std::vector<LinkRoute>> NextHopsOf(const L3Plan& plan) {
  // The kernel has one route of these, whatever else they say.
  using Key = std::tuple<IpNetwork, uint32_t, uint32_t>;
  std::map<Key, size_t> numbers;
  std::vector<std::vector<LinkRoute>> routes;
  for (const LinkRoute& route : plan.routes) {
    const Key key = {route.destination.Masked(), route.metric, route.table};
    const auto [known, is_new] = numbers.emplace(key, routes.size());
    if (is_new) routes.emplace_back();
    auto& hops = routes[known->second];
    const bool is_known = std::any_of(hops.begin(), hops.end(), [&](const LinkRoute& hop) {
      return HasSameAttributes(hop, route) && hop.gateway == route.gateway;
    });
    if (!is_known) hops.push_back(route);
  }
  return routes;
}

/// The plan's routes as `link` has them, each with its next hops.
std::vector<std::vector<LinkRoute>> RoutesThrough(const Link& link, const L3Plan& plan) {
  auto routes = NextHopsOf(plan);
  if (plan.is_default) return routes;
  for (std::vector<LinkRoute>& hops : routes) {
    for (LinkRoute& hop : hops) hop.metric = kOtherVifsMetric + static_cast<uint32_t>(link.index);
  }
  return routes;
}

void AddRoutes(RouteSocket& socket, const Link& link, const L3Plan& plan) {
  for (const std::vector<LinkRoute>& hops : RoutesThrough(link, plan)) {
    if (!socket.AddRoute(link, hops)) {
      Log(LogLevel::kDebug, "route exists already",
          {{"destination", hops.front().destination.ToString()}, {"ifname", link.name}});
    }
  }
}

bool IsSameRoute(const std::vector<LinkRoute>& a, const std::vector<LinkRoute>& b) {
  return a.front().destination.Masked() == b.front().destination.Masked() &&
         a.front().metric == b.front().metric;
}

bool HasSameGateways(const std::vector<LinkRoute>& a, const std::vector<LinkRoute>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const LinkRoute& one, const LinkRoute& other) { return one.gateway == other.gateway; });
}

/// Changes the gateways of routes that both plans have, and removes those that only `before` has.
void ChangeRoutes(RouteSocket& socket, const Link& link, const L3Plan& before,
                  const L3Plan& after) {
  const auto wanted = RoutesThrough(link, after);
  for (const std::vector<LinkRoute>& old : RoutesThrough(link, before)) {
    const auto kept = std::find_if(wanted.begin(), wanted.end(),
                                   [&](const auto& hops) { return IsSameRoute(hops, old); });
    if (kept == wanted.end()) {
      (void)socket.RemoveRoute(link.index, old);
    } else if (!HasSameGateways(*kept, old)) {
      socket.ReplaceRoute(link, *kept);
    }
  }
}

/// The kernel's routes of all tables, by destination; each with the index of its link. The kernel
/// has cleared the host bits of IPv6 destinations.
using Routes = std::multimap<IpNetwork, std::pair<int, LinkRoute>>;

Routes RoutesOf(RouteSocket& inside) {
  Routes routes;
  for (auto& route : inside.RoutesOfAllTables())
    routes.emplace(route.second.destination.Masked(), std::move(route));
  return routes;
}

/// Adds the difference of one planned route.
void CheckRoute(const Routes& present, const Link& link, const LinkRoute& wanted,
                Differences& found) {
  const auto [begin, end] = present.equal_range(wanted.destination.Masked());
  std::string other;
  bool is_taken = false;
  for (auto entry = begin; entry != end; ++entry) {
    const auto& [index, route] = entry->second;
    // A plugin that comes later in the chain may have moved it to a table of its own.
    if (index == link.index && route.gateway == wanted.gateway) return;
    if (route.table != 0) continue;
    if (index == link.index) {
      other = Describe(route);
    } else {
      // The route was there before, and ConfigureL3 left it.
      is_taken = true;
    }
  }
  if (other.empty() && is_taken) return;
  const std::string through = " through " + link.name;
  const std::string expected = Describe(wanted);
  const std::string text = other.empty() ? expected + through + " is missing"
                                         : other + through + " instead of " + expected;
  found.push_back({.kind = DifferenceKind::kRoute,
                   .what = link.name,
                   .expected = expected,
                   .found = other,
                   .text = text});
}

}  // namespace

const L3Plan::Address* FindIpv6(const L3Plan& plan) {
  const auto found = std::find_if(
      plan.addresses.begin(), plan.addresses.end(),
      [](const auto& address) { return address.network.address.family == IpFamily::kIpv6; });
  return found == plan.addresses.end() ? nullptr : &*found;
}

void RequireNextHops(const L3Plan& plan, const std::string& path) {
  for (const std::vector<LinkRoute>& hops : NextHopsOf(plan)) {
    const LinkRoute& first = hops.front();
    if (hops.size() > kMostNextHops) {
      throw ParseError(path, "has " + std::to_string(hops.size()) + " gateways to " +
                                 first.destination.ToString() + ", and 64 at most are possible");
    }
    for (size_t i = 1; i < hops.size(); ++i) {
      if (first.gateway && hops[i].gateway && HasSameAttributes(first, hops[i])) continue;
      throw ParseError(path, "has " + Describe(first) + " and " + Describe(hops[i]) +
                                 ": two gateways that differ in nothing else can be next hops");
    }
  }
}

L3Plan PlanL3(const vif::VifBase& vif, bool is_default) {
  L3Plan plan{.is_default = is_default};
  const vif::Network& network = vif::Required(vif.network, "$.network");
  if (!network.subnets.has_value()) return plan;
  size_t number = 0;
  bool has_ipv6 = false;
  for (const vif::Subnet& subnet : *network.subnets) {
    const std::string path = "$.network.subnets[" + std::to_string(number++) + "]";
    PlanAddresses(vif, subnet, path, plan);
    PlanRoutes(subnet, path, plan);
    PlanNameservers(subnet, plan);
    has_ipv6 = has_ipv6 || subnet.cidr->address.family == IpFamily::kIpv6;
  }
  plan.is_advertised = has_ipv6 && FindIpv6(plan) == nullptr;
  for (LinkRoute& route : plan.routes)
    route.gateway_on_link = route.gateway && !IsReachable(plan, *route.gateway);
  RequireNextHops(plan, "$.network.subnets");
  return plan;
}

void RefuseAdvertisements(const Netns& netns, const std::string& ifname, const L3Plan& plan) {
  if (plan.addresses.empty() && !plan.is_awaited) return;
  const NetnsGuard guard(netns);
  try {
    RefuseRedirects(ifname);
    if (plan.is_advertised) return;
    for (const char* setting : {"accept_ra", "autoconf", "accept_redirects"})
      SetSysctl("net/ipv6/conf/" + ifname + "/" + setting, '0');
  } catch (const std::system_error& e) {
    // The pod works, as without its announcement.
    if (e.code() != std::errc::read_only_file_system) throw;
    Log(LogLevel::kWarning, "an interface accepts what routers send to its link",
        {{"ifname", ifname}, {"error", e.what()}});
  }
}

void ConfigureL3(const Netns& netns, const std::string& ifname, const L3Plan& plan, L3Scope scope) {
  if (plan.is_awaited) return;
  RouteSocket socket = RouteSocket::OpenIn(netns);
  const std::optional<Link> link = socket.GlanceAt(ifname);
  if (!link) {
    const char* where = scope == L3Scope::kPod ? " in the pod" : " on the host";
    ThrowErrno(ENODEV, "configure " + Printable(ifname) + where);
  }
  if (scope == L3Scope::kPod) {
    SetLoopbackUp(socket);
    RefuseAdvertisements(netns, link->name, plan);
  }
  if (const L3Plan::Address* ipv6 = FindIpv6(plan)) {
    RequireMtuForIpv6(*link, ipv6->network);
    const NetnsGuard guard(netns);
    if (scope == L3Scope::kPod) EnableIpv6("all");
    EnableIpv6(link->name);
  }
  for (const L3Plan::Address& address : plan.addresses) socket.AddAddress(*link, address.network);
  AddRoutes(socket, *link, plan);
}

void ChangeL3(const Netns& netns, const std::string& ifname, const L3Plan& before,
              const L3Plan& after) {
  ConfigureL3(netns, ifname, after, L3Scope::kPod);
  RouteSocket socket = RouteSocket::OpenIn(netns);
  const std::optional<Link> link = socket.GlanceAt(ifname);
  if (!link) return;
  ChangeRoutes(socket, *link, before, after);
  {
    // Else the kernel takes all of a subnet's addresses away with the first one.
    const NetnsGuard guard(netns);
    SetSysctl("net/ipv4/conf/" + link->name + "/promote_secondaries", '1');
  }
  for (const L3Plan::Address& old : before.addresses) {
    const bool stays = std::any_of(after.addresses.begin(), after.addresses.end(),
                                   [&](const auto& kept) { return kept.network == old.network; });
    if (!stays) (void)socket.RemoveAddress(*link, old.network);
  }
  // An address that goes takes the routes with it that no other address reaches.
  ConfigureL3(netns, ifname, after, L3Scope::kPod);
}

void CheckL3(RouteSocket& inside, const Link& link, const L3Plan& plan, Differences& found) {
  const std::vector<IpNetwork> addresses = inside.AddressesOf(link);
  const std::set<IpNetwork> present(addresses.begin(), addresses.end());
  for (const L3Plan::Address& address : plan.addresses) {
    if (present.contains(address.network)) continue;
    const std::string expected = address.network.ToString();
    found.push_back({.kind = DifferenceKind::kAddress,
                     .what = link.name,
                     .expected = expected,
                     .text = "address " + expected + " is missing on " + link.name});
  }
  if (plan.routes.empty()) return;
  const Routes routes = RoutesOf(inside);
  for (const LinkRoute& route : plan.routes) CheckRoute(routes, link, route, found);
}

}  // namespace kuryr::binding
