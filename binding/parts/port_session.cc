#include "binding/parts/port_session.h"

#include <utility>
#include <variant>

#include "base/error.h"
#include "base/log.h"
#include "binding/allowed.h"
#include "binding/interfaces.h"
#include "binding/netlink/route_socket.h"
#include "binding/owner.h"

namespace kuryr::binding {
namespace {

/// One that ovs-vswitchd would take for the bridge's own, such as a tap that nobody holds. The
/// kernel's datapath has a kind of its own.
bool HasOtherLink(const std::string& bridge) {
  const auto link = RouteSocket().FindLink(bridge);
  return link && link->kind != "openvswitch";
}

/// As the database has the kernel's, which an empty type stands for.
std::string DatapathName(const std::string& type) { return type.empty() ? "system" : type; }

/// Which datapath the node's bridges have is its operator's to say.
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

/// The first of `wanted` that the port has not; nullopt when it has all.
std::optional<std::string> DifferenceIn(const ExternalIds& ids, const ExternalIds& wanted) {
  for (const auto& [key, value] : wanted) {
    // Neutron's agents set the one to other values in a port's life. A plugin behind us in the
    // chain may have given the pod another MAC.
    if (key == "iface-status" || key == "attached-mac") continue;
    const auto found = ids.find(key);
    if (found != ids.end() && found->second == value) continue;
    const std::string present = found == ids.end() ? "" : found->second;
    std::string difference = " has external_ids:";
    difference.append(key).append(" \"").append(Printable(present));
    return difference.append("\" instead of \"").append(Printable(value)).append("\"");
  }
  return std::nullopt;
}

/// Of VLANs and QoS, which nobody else sets.
std::optional<std::string> DifferenceInOwn(const PortState& state, const OvsPort& wanted) {
  const PortSettings& settings = wanted.settings;
  if (state.vlan_mode != settings.vlan_mode || state.trunks != settings.trunks)
    return " has other trunks or another vlan_mode than the ADD gave it";
  if (state.vlan != settings.vlan)
    return " has " + TagText(state.vlan) + " instead of " + TagText(settings.vlan);
  if (!wanted.qos_type.empty() && !state.has_qos) return " has no QoS row";
  if (state.policing_rate != settings.policing_rate)
    return " has ingress_policing_rate " + std::to_string(state.policing_rate) + " instead of " +
           std::to_string(settings.policing_rate);
  return std::nullopt;
}

std::optional<std::string> DifferenceOfPort(const PortState& state, const OvsPort& wanted,
                                            const BindingConfig& config) {
  if (state.bridge != wanted.bridge)
    return " is on bridge " + Printable(state.bridge) + " instead of " + wanted.bridge;
  if (auto difference = DifferenceIn(state.external_ids, wanted.external_ids)) return difference;
  if (config.owns_ports) {
    if (auto difference = DifferenceInOwn(state, wanted)) return difference;
  }
  if (!state.error.empty()) return " has the error " + Printable(state.error, 200);
  if (state.ofport < 1) return " has no OpenFlow port number";
  return std::nullopt;
}

}  // namespace

PortSession PortSession::Patient(const DriverContext& context, const Deadline& deadline) {
  return {context, deadline.AtMost(context.config.ovs_timeout), context.config.ovsdb_wait};
}

PortSession PortSession::AtOnce(const DriverContext& context, const Deadline& deadline) {
  return {context, deadline.AtMost(context.config.ovs_timeout), {}};
}

PortSession::PortSession(const DriverContext& context, const Deadline& deadline,
                         Deadline::Clock::duration patience)
    : context_(context),
      deadline_(deadline),
      ovs_(context.config.ovsdb_connection, &context.shared.ovsdb, patience,
           &context.shared.changes) {}

void PortSession::Add(const OvsPort& port, const std::string& datapath_type) {
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
  ovs_.JoinMirrors(port, deadline_);
}

void PortSession::RequireAllowedBridge(const OvsPort& port, const std::string& datapath_type) {
  if (context_.config.needs_bridge)
    throw OvsError("bridge " + port.bridge + " of Open vSwitch is missing (ovs-vsctl add-br)");
  RequireNamedBridge(context_.config, port.bridge, BridgeKind::kOpenVSwitch);
  RequireSameDatapath(port, datapath_type);
  RequireNoOtherLink(port.bridge);
}

void PortSession::RequireNoOtherLink(const std::string& bridge) {
  if (!HasOtherLink(bridge)) return;
  // Or a bridge of that name comes or goes just now.
  ovs_.WaitUntilApplied(deadline_);
  if (!HasOtherLink(bridge) || ovs_.HasBridge(bridge, deadline_)) return;
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

std::optional<std::string> PortSession::Check(const OvsPort& wanted) {
  const std::string what = "Open vSwitch port " + wanted.name;
  const auto state = ovs_.FindPortState(wanted.name, deadline_);
  if (!state) return what + " is missing";
  if (const auto difference = DifferenceOfPort(*state, wanted, context_.config))
    return what + *difference;
  datapath_type_ = state->datapath_type;
  if (const auto difference = ovs_.FindMirrorDifference(wanted, deadline_))
    return what + *difference;
  return std::nullopt;
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
