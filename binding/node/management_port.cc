#include "binding/node/management_port.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/error.h"
#include "binding/links/interfaces.h"
#include "binding/netlink/route_socket.h"
#include "binding/node/node_part.h"
#include "binding/parts/port_session.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {
namespace {

constexpr const char* kInternal = "internal";
/// The time that ovs-vswitchd has to show that it runs.
constexpr std::chrono::seconds kServedTime{3};

OvsPort PortOf(const ManagementPort& plan, const BindingConfig& config) {
  OvsPort port{.name = plan.name,
               .bridge = plan.bridge,
               .type = kInternal,
               .external_ids = ManagementPortMark(),
               .datapath_type = config.datapath_type,
               .mtu_request = plan.mtu,
               .mac = plan.mac,
               .isolated = config.isolate_vif,
               .transient = false};
  port.external_ids.insert({{OpenVSwitch::kNeutronPort, plan.interface_id},
                            {"iface-status", "active"},
                            {"attached-mac", plan.mac.ToString()}});
  return port;
}

bool IsMarked(const PortState& there) { return Includes(there.external_ids, ManagementPortMark()); }

/// The kinds of links that ovs-vswitchd makes for an internal port: in the kernel's datapath, and
/// in that of userspace.
bool IsInternalLink(const Link& link) { return link.kind == "openvswitch" || link.kind == "tun"; }

class ManagementPortPart final : public NodePart {
 public:
  ManagementPortPart(const NodePlan& plan, const DriverContext& context)
      : plan_(plan.port), context_(context), wanted_(PortOf(plan.port, context.config)) {}

  [[nodiscard]] const char* name() const override { return "port"; }

  [[nodiscard]] Differences Check(const Deadline& deadline) override {
    PortSession session = PortSession::AtOnce(context_, deadline);
    Look(session);
    Differences found;
    for (const std::string& stale : stale_)
      found.push_back({.kind = DifferenceKind::kPort,
                       .what = stale,
                       .text = "Open vSwitch port " + stale + " is an earlier management port"});
    CheckPort(found);
    CheckLink(found);
    return found;
  }

  void Make(const Deadline& deadline) override {
    PortSession session = PortSession::AtOnce(context_, deadline);
    // One that starts is done with what the database says, or the port is looked at too early.
    if (!session.ovs().IsServed(deadline.AtMost(kServedTime)))
      ThrowErrno(ETIMEDOUT, "ovs-vswitchd does not answer");
    Look(session);
    if (there_ && !IsMarked(*there_))
      throw HostInterfaceInUse("port " + wanted_.name + " of Open vSwitch is another's");
    for (const std::string& stale : stale_)
      session.ovs().DeletePort(stale, ManagementPortMark(), deadline);
    if (there_ && !IsUsable()) {
      session.ovs().DeletePort(wanted_.name, ManagementPortMark(), deadline);
      session.WaitUntilLetGo(wanted_.name);
      Look(session);
    }
    if (!there_) {
      Add(session);
      Look(session);
    } else if (!HasColumns()) {
      session.Update(wanted_, *there_);
    }
    MakeLink();
  }

 private:
  void Look(PortSession& session) {
    stale_ = session.ovs().FindPortNames(ManagementPortMark(), session.deadline());
    std::erase(stale_, wanted_.name);
    there_ = session.ovs().FindPortState(wanted_.name, session.deadline());
    link_ = RouteSocket().FindLink(wanted_.name);
  }

  /// Whether the port can become the planned one without being made anew. Neutron's Open vSwitch
  /// agent does not hear of another iface-id of an interface that it knows.
  [[nodiscard]] bool IsUsable() const {
    const ExternalIds id = {{OpenVSwitch::kNeutronPort, plan_.interface_id}};
    return there_->bridge == wanted_.bridge && there_->type == kInternal && there_->IsUp() &&
           Includes(there_->external_ids, id) && link_;
  }

  [[nodiscard]] bool HasColumns() const {
    const bool has_ids = std::all_of(
        wanted_.external_ids.begin(), wanted_.external_ids.end(), [&](const auto& wanted) {
          return IsChangedByOthers(wanted.first) || Includes(there_->external_ids, {wanted});
        });
    return has_ids && there_->mac == wanted_.mac && there_->mtu_request == wanted_.mtu_request;
  }

  void Add(PortSession& session) {
    session.WaitUntilLetGo(wanted_.name);
    const auto link = RouteSocket().FindLink(wanted_.name);
    if (link && !IsLeftover(*link))
      throw HostInterfaceInUse("link " + wanted_.name + " of the node is no port of ours");
    (void)session.Add(wanted_, "");
    try {
      session.WaitUntilUp();
    } catch (const OvsError&) {
      session.Undo(wanted_.name, [&](const Deadline& deadline) {
        session.ovs().DeletePort(wanted_.name, ManagementPortMark(), deadline);
      });
      throw;
    }
  }

  /// A tap without a process: ovs-vswitchd leaves it when it ends, and takes it over for the port.
  [[nodiscard]] bool IsLeftover(const Link& link) const {
    return link.kind == "tun" && link.mac == plan_.mac;
  }

  void CheckPort(Differences& found) const {
    const auto tell = [&](DifferenceKind kind, const std::string& text) {
      found.push_back({.kind = kind,
                       .what = wanted_.name,
                       .text = "Open vSwitch port " + wanted_.name + " " + text,
                       .live_safe = true});
    };
    if (!there_) return tell(DifferenceKind::kPort, "is missing");
    if (!IsMarked(*there_)) return tell(DifferenceKind::kPort, "is another's");
    if (there_->bridge != wanted_.bridge)
      tell(DifferenceKind::kBridge,
           "is on bridge " + Printable(there_->bridge) + " instead of " + wanted_.bridge);
    if (there_->type != kInternal) tell(DifferenceKind::kPort, "is not internal");
    if (!there_->error.empty()) {
      tell(DifferenceKind::kPort, "has the error " + Printable(there_->error, 200));
    } else if (!there_->IsUp()) {
      tell(DifferenceKind::kPort, "has no OpenFlow port number");
    }
    if (!HasColumns())
      tell(DifferenceKind::kExternalIds, "has another MAC, mtu_request or external_ids");
  }

  void CheckLink(Differences& found) const {
    const auto tell = [&](DifferenceKind kind, const std::string& text) {
      found.push_back({.kind = kind,
                       .what = wanted_.name,
                       .text = "link " + wanted_.name + " " + text,
                       .live_safe = true});
    };
    if (!link_) return tell(DifferenceKind::kLink, "is missing");
    if (link_->mac != plan_.mac)
      tell(DifferenceKind::kMac,
           "has MAC " + link_->mac.ToString() + " instead of " + plan_.mac.ToString());
    if (plan_.mtu && link_->mtu != *plan_.mtu)
      tell(DifferenceKind::kMtu,
           "has MTU " + std::to_string(link_->mtu) + " instead of " + std::to_string(*plan_.mtu));
    if (!link_->up) tell(DifferenceKind::kState, "is down");
    if (LeavesChecksums(*link_)) tell(DifferenceKind::kChecksums, "leaves checksums to a card");
  }

  /// Packets of the datapath of userspace get to no card that would make their checksums.
  [[nodiscard]] bool LeavesChecksums(const Link& link) const {
    return there_ && there_->datapath_type == kUserspaceDatapath &&
           RouteSocket().LeavesChecksums(link);
  }

  void MakeLink() {
    RouteSocket host;
    const Link link = Find(host, wanted_.name);
    if (!IsInternalLink(link))
      throw HostInterfaceInUse("link " + wanted_.name + " of the node is no port of ours");
    if (LeavesChecksums(link)) host.MakeChecksums(link);
    LinkChange change;
    if (link.mac != plan_.mac) change.mac = plan_.mac;
    if (plan_.mtu && link.mtu != *plan_.mtu) change.mtu = plan_.mtu;
    if (!link.up) change.up = true;
    if (change != LinkChange{}) host.ChangeLink(link, change);
  }

  const ManagementPort& plan_;
  const DriverContext& context_;
  const OvsPort wanted_;
  std::vector<std::string> stale_;
  std::optional<PortState> there_;
  std::optional<Link> link_;
};

}  // namespace

const ExternalIds& ManagementPortMark() {
  static const ExternalIds kMark = {{"kuryr-management-port", "true"}};
  return kMark;
}

std::unique_ptr<NodePart> NewManagementPortPart(const NodePlan& plan,
                                                const DriverContext& context) {
  return std::make_unique<ManagementPortPart>(plan, context);
}

bool RemoveManagementPorts(const DriverContext& context, const Deadline& deadline) {
  PortSession session = PortSession::AtOnce(context, deadline);
  const auto names = session.ovs().FindPortNames(ManagementPortMark(), deadline);
  // Without the row, no later try would know the link that ovs-vswitchd has left.
  if (!names.empty() && !session.ovs().IsServed(deadline.AtMost(kServedTime)))
    ThrowErrno(ETIMEDOUT, "ovs-vswitchd does not answer");
  for (const std::string& name : names)
    session.ovs().DeletePort(name, ManagementPortMark(), deadline);
  if (!names.empty()) session.ovs().WaitUntilApplied(deadline);
  return !names.empty();
}

}  // namespace kuryr::binding
