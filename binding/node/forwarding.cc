#include "binding/node/forwarding.h"

#include <linux/rtnetlink.h>

#include <string>

#include "base/log.h"
#include "binding/netlink/route_socket.h"
#include "binding/netlink/sysctl.h"

namespace kuryr::binding {
namespace {

void SwitchOn(const std::string& setting) {
  if (ReadSysctl(setting) != '0') return;
  SetSysctl(setting, '1');
  Log(LogLevel::kInfo, "the node forwards packets from now on", {{"setting", setting}});
}

bool IsDefaultRoute(const LinkRoute& route) {
  return route.destination.address.family == IpFamily::kIpv6 &&
         route.destination.prefix_length == 0;
}

void KeepAdvertisedRoutes() {
  RouteSocket host;
  for (const auto& [index, route] : host.RoutesOfProtocol(RTPROT_RA)) {
    const auto link = IsDefaultRoute(route) ? host.FindLink(index) : std::nullopt;
    if (!link) continue;
    const std::string setting = "net/ipv6/conf/" + link->name + "/accept_ra";
    if (ReadSysctl(setting) != '1') continue;
    SetSysctl(setting, '2');
    Log(LogLevel::kInfo, "the link accepts router advertisements although the node forwards",
        {{"setting", setting}});
  }
}

}  // namespace

void ForwardIpv4() { SwitchOn("net/ipv4/ip_forward"); }

void ForwardIpv6() {
  constexpr const char* kForwarding = "net/ipv6/conf/all/forwarding";
  if (ReadSysctl(kForwarding) == '0') KeepAdvertisedRoutes();
  SwitchOn(kForwarding);
}

}  // namespace kuryr::binding
