#include "binding/parts/port_part.h"

#include <chrono>
#include <exception>

#include "base/log.h"
#include "binding/links/interfaces.h"
#include "binding/links/owner.h"
#include "binding/plan/attachment.h"
#include "binding/plan/neutron_port.h"
#include "binding/try_all.h"

namespace kuryr::binding {
namespace {

/// The time that ovs-vswitchd has to greet a new connection, before a port's flows are removed.
constexpr std::chrono::seconds kUnsecureTime{1};

void PrepareFlows(PlugSite& site) {
  site.shared().flows.Prepare(site.config().ovsdb_connection, site.plug().bridge,
                              site.session().deadline());
}

bool IsKernelLink(const OvsPort& port) { return port.type.empty() || port.type == "system"; }

/// The userspace datapath reads packets of a link before the kernel polices them.
void RequirePolicing(const OvsPort& port, const PortSession& session) {
  if (port.limits.policing_rate == 0 || !IsKernelLink(port) || !session.IsUserspace()) return;
  throw UnsupportedLimit("bridge " + port.bridge +
                         " cannot limit what a pod sends: its datapath_type is netdev");
}

/// ovs-vswitchd sets limits before it gives a new port its number. If the kernel refuses them, only
/// ovs-vswitchd's log says so.
void RequireLimits(const OvsPort& port, RouteSocket& host) {
  const PortLimits& limits = port.limits;
  if (limits == PortLimits() || !IsKernelLink(port)) return;
  const Link link = Find(host, port.name);
  const std::string who = "ovs-vswitchd could not limit what the pod ";
  if (limits.max_rate != 0 && link.qdisc != "htb")
    throw UnsupportedLimit(who + "receives: the kernel may lack sch_htb");
  if (limits.policing_rate != 0 && !host.HasIngressFilter(link))
    throw UnsupportedLimit(who + "sends: the kernel may lack act_police or cls_matchall");
}

}  // namespace

void PortNamePart::Make() {
  for (const std::string& name : names_) site().session().WaitUntilLetGo(name);
}

void PortPart::Require() {
  site().session().Connect();
  if (Wanted().security) PrepareFlows(site());
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
  CheckSecurity(wanted, found);
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
    // A repaired port is better without the limit than not there.
    if (!is_checked_) RequirePolicing(wanted, session);
  }
  session.JoinMirrors();
}

std::optional<Interface> PortPart::Await() {
  const uint32_t number = site().session().WaitUntilUp();
  if (const auto security = Wanted().security)
    UseFlows([&](OpenFlow& bridge) {
      SecurePort(bridge, number, *security, site().session().deadline());
    });
  const Link link = GlanceAt(site().host(), name_);
  // ovs-vswitchd writes back the flags it remembers of an older device of this name, down.
  if (!link.up) site().host().SetUp(link);
  if (!is_checked_) RequireLimits(Wanted(), site().host());
  if (shown_ == Shown::kNo) return std::nullopt;
  return Describe(link, false);
}

void PortPart::Remove(const Attachment& owner) {
  PortSession& session = site().session();
  std::optional<uint32_t> secured;
  session.ovs().DeletePort(name_, OwnerIds(owner), session.deadline(), [&](const PortState* there) {
    if (there == nullptr || !there->external_ids.contains(kPortSecurity) || !there->IsUp()) return;
    secured = static_cast<uint32_t>(there->ofport);
    PrepareFlows(site());
  });
  if (secured) Unsecure(*secured);
}

void PortPart::CheckSecurity(const OvsPort& wanted, Differences& found) {
  if (!wanted.security || !there_ || there_->bridge != wanted.bridge || !there_->IsUp()) return;
  bool is_secured = false;
  UseFlows([&](OpenFlow& bridge) {
    is_secured = IsPortSecured(bridge, static_cast<uint32_t>(there_->ofport), *wanted.security,
                               site().session().deadline());
  });
  if (is_secured) return;
  found.push_back({.kind = DifferenceKind::kProtection,
                   .what = wanted.name,
                   .expected = "port security",
                   .text = "bridge " + wanted.bridge + " has not all flows that keep port " +
                           wanted.name + " to its addresses"});
}

void PortPart::Unsecure(uint32_t number) noexcept {
  try {
    const Deadline deadline = site().session().deadline().AtMost(kUnsecureTime);
    UseFlows([&](OpenFlow& bridge) { UnsecurePort(bridge, number, deadline); });
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "flows of a port that is gone may be left",
        {{"port", name_}, {"error", e.what()}});
  }
}

void PortPart::UseFlows(const OpenFlowConnections::Work& work) {
  site().shared().flows.Use(site().config().ovsdb_connection, site().plug().bridge,
                            site().session().deadline(), work);
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
