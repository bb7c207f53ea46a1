#include "binding/parts/port_part.h"

#include "binding/interfaces.h"
#include "binding/neutron_port.h"
#include "binding/try_all.h"

namespace kuryr::binding {

void PortNamePart::Make() {
  for (const std::string& name : names_) site().session().WaitUntilLetGo(name);
}

OvsPort PortPart::Wanted() { return OwnedPort(site().planned(), site().attachment()); }

void PortPart::Check(Differences& found) { site().session().Check(Wanted(), found); }

void PortPart::Make() {
  PortSession& session = site().session();
  created_bridge_ = session.Add(Wanted(), site().planned().datapath_type);
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
