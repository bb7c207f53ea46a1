#include "binding/parts/port_session.h"

#include <utility>
#include <variant>

#include "base/error.h"
#include "base/log.h"
#include "binding/links/interfaces.h"
#include "binding/links/owner.h"
#include "binding/netlink/route_socket.h"
#include "binding/ovs/qos_rows.h"
#include "binding/plan/allowed.h"

namespace kuryr::binding {
namespace {

/// Whether a link has the bridge's name that ovs-vswitchd would take for the bridge's own, such as
/// a tap that no process holds. The kernel's datapath has a kind of its own. `was_bridge`: Open
/// vSwitch has had a bridge of this name, and a killed ovs-vswitchd leaves the tap of such a
/// bridge.
bool HasOtherLink(const std::string& bridge, bool was_bridge) {
  const auto link = RouteSocket().FindLink(bridge);
  if (!link || link->kind == "openvswitch") return false;
  return !was_bridge || link->kind != "tun" || link->has_carrier;
}

/// The database's name for a type. An empty type stands for the kernel's.
std::string DatapathName(const std::string& type) { return type.empty() ? "system" : type; }

/// The operator decides which datapath the node's bridges have.
void RequireSameDatapath(const OvsPort& port, const std::string& said) {
  const std::string made = DatapathName(port.datapath_type);
  if (said.empty() || DatapathName(said) == made) return;
  throw UnsupportedVif("bridge " + port.bridge +
                       " is missing and would be made with datapath_type " + made +
                       " ([os_vif_ovs] datapath_type), and $.port_profile.datapath_type is \"" +
                       Printable(said) + "\"");
}

std::string TagText(const std::optional<uint16_t>& vlan) {
  return vlan ? "tag " + std::to_string(*vlan) : "no tag";
}

std::string ListOf(const std::vector<uint16_t>& trunks) {
  std::string list;
  for (const uint16_t trunk : trunks)
    list.append(list.empty() ? "" : ",").append(std::to_string(trunk));
  return list;
}

/// Compares one port, column by column.
class PortComparison {
 public:
  PortComparison(const OvsPort& wanted, Differences& found) : wanted_(wanted), found_(found) {}

  void Compare(const PortState& state, bool owns_ports) {
    if (state.bridge != wanted_.bridge)
      TellValue(DifferenceKind::kBridge, "is on bridge", wanted_.bridge, Printable(state.bridge));
    CompareIds(state.external_ids);
    CompareLimits(state);
    if (wanted_.is_protected && !state.is_protected)
      Tell(DifferenceKind::kProtection, "protected", "",
           " is not protected from other pods' ports");
    if (owns_ports) CompareOwn(state);
    if (!state.error.empty())
      Tell(DifferenceKind::kPort, "", state.error, " has the error " + Printable(state.error, 200));
    if (state.error.empty() && state.ofport < 1)
      Tell(DifferenceKind::kPort, "", "", " has no OpenFlow port number");
  }

  /// `text` follows the port's name.
  void Tell(DifferenceKind kind, std::string expected, std::string present,
            const std::string& text) {
    found_.push_back({.kind = kind,
                      .what = wanted_.name,
                      .expected = std::move(expected),
                      .found = std::move(present),
                      .text = "Open vSwitch port " + wanted_.name + text});
  }

 private:
  /// "PROPERTY PRESENT instead of EXPECTED".
  void TellValue(DifferenceKind kind, const std::string& property, const std::string& expected,
                 const std::string& present) {
    Tell(kind, expected, present, " " + property + " " + present + " instead of " + expected);
  }

  void CompareIds(const ExternalIds& ids) {
    for (const auto& [key, value] : wanted_.external_ids) {
      if (IsChangedByOthers(key)) continue;
      const auto present = ids.find(key);
      if (present != ids.end() && present->second == value) continue;
      TellValue(DifferenceKind::kExternalIds, "has external_ids:" + key,
                "\"" + Printable(value) + "\"",
                "\"" + Printable(present == ids.end() ? "" : present->second) + "\"");
    }
  }

  /// Those limits that somebody asks for.
  void CompareLimits(const PortState& state) {
    const PortLimits& limits = wanted_.limits;
    if (limits.policing_rate != 0) {
      CompareNumber("ingress_policing_rate", limits.policing_rate, state.policing_rate);
      CompareNumber("ingress_policing_burst", limits.policing_burst, state.policing_burst);
    }
    if (limits.max_rate != 0 && state.shaping != ShapingOf(wanted_))
      TellValue(DifferenceKind::kQos, "has", ShapingOf(wanted_), Printable(state.shaping, 200));
  }

  void CompareNumber(const std::string& column, uint64_t expected, uint64_t present) {
    if (expected == present) return;
    TellValue(DifferenceKind::kQos, "has " + column, std::to_string(expected),
              std::to_string(present));
  }

  /// VLANs and a QoS row without a limit.
  void CompareOwn(const PortState& state) {
    const PortSettings& settings = wanted_.settings;
    if (state.vlan_mode != settings.vlan_mode || state.trunks != settings.trunks) {
      Tell(DifferenceKind::kVlan, settings.vlan_mode + " " + ListOf(settings.trunks),
           state.vlan_mode + " " + ListOf(state.trunks),
           " has other trunks or another vlan_mode than the ADD gave it");
    }
    if (state.vlan != settings.vlan)
      TellValue(DifferenceKind::kVlan, "has", TagText(settings.vlan), TagText(state.vlan));
    if (wanted_.limits.max_rate == 0 && !wanted_.qos_type.empty() && !state.has_qos)
      Tell(DifferenceKind::kQos, wanted_.qos_type, "", " has no QoS row");
  }

  const OvsPort& wanted_;
  Differences& found_;
};

}  // namespace

PortSession PortSession::Patient(const DriverContext& context, const Deadline& deadline) {
  return {context, deadline, context.config.ovsdb_wait};
}

PortSession PortSession::AtOnce(const DriverContext& context, const Deadline& deadline) {
  return {context, deadline, {}};
}

PortSession::PortSession(const DriverContext& context, const Deadline& deadline,
                         Deadline::Clock::duration patience)
    : context_(context),
      deadline_(deadline.AtMost(context.config.ovs_timeout)),
      ovs_(context.config.ovsdb_connection, &context.shared.ovsdb, patience,
           &context.shared.changes) {}

std::optional<CreatedBridge> PortSession::Add(const OvsPort& port,
                                              const std::string& datapath_type) {
  const AddRules rules = {
      .may_replace = [&](const PortState& there) { return MayReplace(there, port); },
      .before_bridge = [&] { RequireAllowedBridge(port, datapath_type); }};
  if (!let_go_) WaitUntilLetGo(port.name);
  auto result = ovs_.AddPort(port, deadline_, rules);
  if (const auto* taken = std::get_if<TakenPort>(&result)) {
    Log(LogLevel::kWarning, "port of Open vSwitch is another's", {{"owner", taken->owner}});
    throw HostInterfaceInUse("port " + port.name + " of Open vSwitch is another's");
  }
  port_ = port;
  added_ = std::get<AddedPort>(std::move(result));
  datapath_type_ = added_.datapath_type;
  return added_.created_bridge;
}

void PortSession::RequireAllowedBridge(const OvsPort& port, const std::string& datapath_type) {
  if (context_.config.needs_bridge)
    throw OvsError("bridge " + port.bridge + " of Open vSwitch is missing (ovs-vsctl add-br)");
  RequireNamedBridge(context_.config, port.bridge, BridgeKind::kOpenVSwitch);
  RequireSameDatapath(port, datapath_type);
  RequireNoOtherLink(port.bridge);
}

void PortSession::RequireNoOtherLink(const std::string& bridge) {
  if (!HasOtherLink(bridge, is_checked_)) return;
  // Or a bridge of that name comes or goes just now.
  ovs_.WaitUntilApplied(deadline_);
  if (!HasOtherLink(bridge, is_checked_) || ovs_.HasBridge(bridge, deadline_)) return;
  throw HostInterfaceInUse(
      "bridge " + bridge +
      " is a network interface of the node, and none of Open vSwitch's bridges");
}

void PortSession::Undo(const std::string& interface,
                       const std::function<void(const Deadline& deadline)>& disconnect) noexcept {
  const Deadline deadline = Deadline::After(kRollbackTime);
  TryUndo(interface, [&] { disconnect(deadline); });
  TryUndo(interface, [&] {
    if (added_.created_bridge) ovs_.DeleteEmptyBridge(*added_.created_bridge, deadline);
  });
}

std::optional<PortState> PortSession::Check(const OvsPort& wanted, Differences& found) {
  is_checked_ = true;
  PortComparison comparison(wanted, found);
  auto state = ovs_.FindPortState(wanted.name, deadline_);
  if (!state) {
    comparison.Tell(DifferenceKind::kPort, wanted.bridge, "", " is missing");
    return std::nullopt;
  }
  datapath_type_ = state->datapath_type;
  if (wanted.is_protected) state->is_protected = ovs_.FindProtected(wanted.name, deadline_);
  if (wanted.limits.max_rate != 0) state->shaping = ovs_.FindShaping(wanted.name, deadline_);
  comparison.Compare(*state, context_.config.owns_ports);
  if (const auto difference = ovs_.FindMirrorDifference(wanted, deadline_))
    comparison.Tell(DifferenceKind::kMirror, "", "", *difference);
  return state;
}

void PortSession::Update(const OvsPort& wanted, const PortState& there) {
  added_ = ovs_.UpdatePort(wanted, there, context_.config.owns_ports, deadline_);
  port_ = wanted;
}

std::vector<FoundPlug> PortSession::FindPlugs(const ExternalIds& ids) {
  std::vector<FoundPlug> found;
  for (const OvsPort& port : ovs_.FindPorts(ids, deadline_)) {
    if (port.external_ids.contains(OpenVSwitch::kContainerId))
      found.push_back({.attachment = AttachmentOf(port), .plug = PlugOf(port)});
  }
  return found;
}

}  // namespace kuryr::binding
