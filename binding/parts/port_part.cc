#include "binding/parts/port_part.h"

#include "binding/interfaces.h"
#include "binding/neutron_port.h"
#include "binding/owner.h"
#include "binding/try_all.h"

namespace kuryr::binding {

void PortNamePart::Make() {
  for (const std::string& name : names_) site().session().WaitUntilLetGo(name);
}

OvsPort PortPart::Wanted() { return OwnedPort(site().planned(), site().attachment()); }

bool PortPart::HasOwnDevice() {
  const auto link = site().host().FindLink(name_);
  return link && OwnerOf(*link, site().attachment()) == Owner::kOwn;
}

void PortPart::Check(Differences& found) {
  const size_t first = found.size();
  const OvsPort wanted = Wanted();
  there_ = site().session().Check(wanted, found);
  is_checked_ = true;
  if (found.size() == first) return;
  const bool live_safe =
      HasOwnDevice() && (!there_ || MayMend(*there_, wanted, OwnerIds(site().attachment())));
  for (size_t i = first; i < found.size(); ++i) found[i].live_safe = live_safe;
}

void PortPart::Make() {
  PortSession& session = site().session();
  const OvsPort wanted = Wanted();
  if (there_ && there_->bridge == wanted.bridge && there_->IsUp()) {
    session.Update(wanted, *there_);
  } else {
    // The QoS row of a port that somebody removed stays.
    if (is_checked_) Remove(site().attachment());
    created_bridge_ = session.Add(wanted, site().planned().datapath_type);
  }
  session.JoinMirrors();
}

std::optional<Interface> PortPart::Await() {
  site().session().WaitUntilUp();
  const Link link = GlanceAt(site().host(), name_);
  // ovs-vswitchd writes back the flags it remembers of an older device of this name, down.
  if (!link.up) site().host().SetUp(link);
  if (shown_ == Shown::kNo) return std::nullopt;
  return Describe(link, false);
}

void PortPart::Remove(const Attachment& owner) {
  PortSession& session = site().session();
  session.ovs().DeletePort(name_, OwnerIds(owner), session.deadline());
}

void PortPart::Undo() {
  TryAll steps;
  steps.Try([&] { Remove(site().attachment()); });
  steps.Try([&] {
    PortSession& session = site().session();
    if (created_bridge_) session.ovs().DeleteEmptyBridge(*created_bridge_, session.deadline());
  });
  steps.Finish();
}

}  // namespace kuryr::binding
