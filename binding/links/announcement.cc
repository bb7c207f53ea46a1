#include "binding/links/announcement.h"

#include "base/log.h"
#include "binding/links/interfaces.h"
#include "binding/netlink/link_watch.h"
#include "binding/netlink/route_socket.h"
#include "binding/netlink/sysctl.h"

namespace kuryr::binding {

void Announce(const Netns& pod, const std::string& ifname) {
  RouteSocket inside = RouteSocket::OpenIn(pod);
  const Link link = Find(inside, ifname);
  {
    const NetnsGuard guard(pod);
    if (!WaitUntilRunning(inside, link, Deadline::After(kCarrierTime)))
      Log(LogLevel::kDebug, "a link without a carrier is announced", {{"ifname", ifname}});
    SetSysctl("net/ipv4/conf/" + link.name + "/arp_notify", '1');
    SetSysctl("net/ipv6/conf/" + link.name + "/ndisc_notify", '1');
  }
  // The kernel announces a MAC that is set, also to what it was (NETDEV_CHANGEADDR). Frames of our
  // own would need a packet socket, and closing one takes 10 ms: the kernel waits for its readers.
  inside.ChangeLink(link, {.mac = link.mac});
}

}  // namespace kuryr::binding
