#include "binding/node/parent_link.h"

#include <cerrno>

#include "base/error.h"
#include "binding/links/interfaces.h"
#include "binding/links/link_mark.h"
#include "binding/netlink/listeners.h"

namespace kuryr::binding {
namespace {

/// Loopback and tunnels have no MAC, and no macvlan or VLAN can stand on them.
bool IsUsable(const Link& link) { return link.up && link.mac != MacAddress(); }

/// Where the kubelet is told to listen on one address, that is the one by which the cluster knows
/// the node.
std::optional<Link> FindKubeletsLink(RouteSocket& host) {
  constexpr uint16_t kKubelet = 10250;
  const std::vector<IpAddress> listeners = FindListeners(kKubelet);
  if (listeners.size() != 1) return std::nullopt;
  const auto index = host.FindLinkWith(listeners.front());
  auto link = index ? host.FindLink(*index) : std::nullopt;
  return link && IsUsable(*link) ? link : std::nullopt;
}

/// Asks for one route instead of looking for the default one among all. Documentation addresses
/// (RFC 5737, RFC 3849) are nowhere, so their way is the default's.
std::optional<Link> FindDefaultRoutesLink(RouteSocket& host) {
  for (const char* anywhere : {"192.0.2.1", "2001:db8::1"}) {
    const auto index = host.FindOutputLink(IpAddress::Parse(anywhere).value());
    auto link = index ? host.FindLink(*index) : std::nullopt;
    if (link && IsUsable(*link)) return link;
  }
  return std::nullopt;
}

std::optional<Link> FindFirstUsableLink(RouteSocket& host) {
  for (const std::string& name : LinkNamesIn(Netns::Current())) {
    auto link = host.FindLink(name);
    if (link && IsUsable(*link) && link->has_carrier && link->master == 0 &&
        !LinkMark::Parse(link->alias)) {
      return link;
    }
  }
  return std::nullopt;
}

}  // namespace

Link FindParentLink(RouteSocket& host, const std::string& link_iface) {
  if (!link_iface.empty()) {
    auto link = host.FindLink(link_iface);
    const std::string what = "use " + link_iface + ", which [binding] link_iface names";
    if (!link) ThrowErrno(ENODEV, what);
    // The kernel accepts a macvlan or VLAN of a link that is down, and the pod has no network.
    if (!link->up) ThrowErrno(ENETDOWN, what);
    return *std::move(link);
  }
  auto link = FindKubeletsLink(host);
  if (!link) link = FindDefaultRoutesLink(host);
  if (!link) link = FindFirstUsableLink(host);
  if (!link) {
    ThrowErrno(ENODEV,
               "find a link to put the pod's interface on: [binding] link_iface is not set, and "
               "neither is there a default route nor another link in use");
  }
  return *std::move(link);
}

}  // namespace kuryr::binding
