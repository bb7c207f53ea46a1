#include "binding/parts/veth_part.h"

#include <cerrno>

#include "base/error.h"
#include "binding/links/host_link.h"
#include "binding/links/interfaces.h"
#include "binding/links/link_mark.h"
#include "binding/links/veth.h"
#include "binding/netlink/link_watch.h"
#include "binding/plan/vif_fields.h"

namespace kuryr::binding {

void ClearVeth(PlugSite& site, const std::string& name) {
  const auto link = FindOnceReplaced(site.host(), name, site.attachment(), site.deadline());
  if (!link) return;
  if (!IsLeftoverVeth(*link, site.attachment())) ThrowInUse(*link);
  site.NoteLeftover(*link);
}

void DiscardVeth(PlugSite& site, const std::string& name, const Attachment& owner) {
  const auto link = site.host().FindLink(name);
  if (link && IsOwnVeth(*link, owner)) site.Discard(*link);
}

void VethPart::Clear() { ClearVeth(site(), name()); }

WantedLink VethPart::Wanted() const {
  WantedLink wanted = {
      .name = name(), .kind = "veth", .mtu = site().planned().mtu.Checked(), .is_mendable = true};
  if (settings_.bridge != nullptr && *settings_.bridge) wanted.master = (*settings_.bridge)->index;
  return wanted;
}

void VethPart::Check(Differences& found) {
  host_end_ = CheckLink(site().host(), Wanted(), site().attachment(), found);
}

void VethPart::Make() {
  if (host_end_) {
    MendLink(site().host(), *host_end_, Wanted(), site().attachment());
  } else {
    Create();
  }
  if (settings_.hairpin) site().host().SetHairpin(Find(site().host(), name()));
}

void VethPart::Create() {
  const MutexLock turn(site().shared().making_links);
  RouteSocket& host = site().host();
  host.CreateVeth({.name = name(),
                   .peer_name = site().plug().ifname,
                   .peer_netns_fd = site().pod().fd(),
                   .peer_mac = site().planned().mac,
                   .mtu = MtuOnBridge(host, site().planned()),
                   .master = settings_.bridge != nullptr ? settings_.bridge->value().index : 0,
                   .group = BirthGroup(site().attachment())});
  SetUpHostEnd(host, name(), LinkMark{site().attachment()}.ToString());
}

std::optional<Interface> VethPart::Await() {
  if (settings_.bridge == nullptr) return std::nullopt;
  const Link host_end = Find(site().host(), name());
  (void)WaitUntilRunning(site().host(), host_end, site().deadline().AtMost(kCarrierTime));
  const Link& bridge = settings_.bridge->value();
  // The maker of the bridge may have failed meanwhile, and have removed it.
  if (host_end.master != bridge.index)
    ThrowErrno(ENODEV, "keep " + name() + " on bridge " + bridge.name);
  return Describe(host_end, false);
}

void VethPart::Remove(const Attachment& owner) { DiscardVeth(site(), name(), owner); }

}  // namespace kuryr::binding
