#include "binding/links/host_link.h"

#include "binding/links/interfaces.h"
#include "binding/netlink/sysctl.h"

namespace kuryr::binding {

void DisableIpv6(const std::string& link) {
  SetSysctl("net/ipv6/conf/" + link + "/disable_ipv6", '1');
}

void Silence(const std::string& bridge) {
  DisableIpv6(bridge);
  SetSysctl("net/ipv4/conf/" + bridge + "/arp_ignore", '1');
  SetSysctl("net/ipv4/conf/" + bridge + "/arp_announce", '2');
}

void MarkAndSetUp(RouteSocket& host, const Link& link, const std::string& mark) {
  host.ChangeLink(link, {.alias = mark});
  host.SetUp(link);
}

void SetUpHostEnd(RouteSocket& host, const std::string& name, const std::string& mark) {
  DisableIpv6(name);
  SetSysctl("net/ipv4/conf/" + name + "/rp_filter", '1');
  MarkAndSetUp(host, GlanceAt(host, name), mark);
}

}  // namespace kuryr::binding
