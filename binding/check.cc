#include "binding/check.h"

#include "base/error.h"
#include "binding/l3.h"
#include "binding/owner.h"

namespace kuryr::binding {

std::optional<std::string> CheckLink(RouteSocket& socket, const WantedLink& wanted,
                                     const Attachment& attachment) {
  const auto link = socket.FindLink(wanted.name);
  const std::string what = "interface " + wanted.name;
  if (!link) return what + " is missing";
  if (!wanted.kind.empty() && link->kind != wanted.kind)
    return what + " is of kind \"" + link->kind + "\" instead of \"" + wanted.kind + "\"";
  if (wanted.marked && OwnerOf(*link, attachment) != Owner::kOwn)
    return what + " is not this attachment's: its alias is \"" + Printable(link->alias) + "\"";
  if (wanted.mac && link->mac != *wanted.mac)
    return what + " has MAC " + link->mac.ToString() + " instead of " + wanted.mac->ToString();
  if (wanted.mtu != 0 && link->mtu != wanted.mtu) {
    return what + " has MTU " + std::to_string(link->mtu) + " instead of " +
           std::to_string(wanted.mtu);
  }
  if (wanted.makes_checksums && socket.LeavesChecksums(*link)) {
    return what + " has tx-checksumming on, and the bridge's userspace datapath makes no checksums";
  }
  if (!link->up) return what + " is down";
  if (wanted.master && link->master != *wanted.master) {
    const auto master = socket.FindLink(link->master);
    return what + " is on " + (master ? "bridge " + master->name : "no bridge") +
           " instead of the VIF's";
  }
  return std::nullopt;
}

std::optional<std::string> CheckPodLink(const PlugRequest& request, WantedLink wanted) {
  const auto& [planned, attachment, pod, deadline] = request;
  wanted.name = planned.plug.ifname;
  wanted.mac = planned.mac;
  RouteSocket inside = RouteSocket::OpenIn(pod);
  if (auto difference = CheckLink(inside, wanted, attachment)) return difference;
  const auto link = inside.FindLink(wanted.name);
  if (!link) return "interface " + wanted.name + " is missing";
  return CheckL3(inside, *link, planned.l3);
}

}  // namespace kuryr::binding
