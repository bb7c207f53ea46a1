#include "binding/neutron_port.h"

#include <utility>
#include <variant>

#include "base/error.h"
#include "base/log.h"
#include "binding/netlink/route_socket.h"
#include "binding/permission.h"

namespace kuryr::binding {
namespace {

/// external_ids beside those that OpenVSwitch knows.
constexpr const char* kAttachmentIfname = "kuryr-ifname";
constexpr const char* kDriver = "kuryr-driver";
constexpr const char* kPodIfname = "kuryr-pod-ifname";
/// Only where it is not the port itself.
constexpr const char* kHostInterface = "kuryr-host-interface";
/// Only where the plug has one.
constexpr const char* kDevice = "kuryr-device";

/// What a profile for Open vSwitch has; null without a profile. FPOpenVSwitch is for fast-path
/// switches, whose VIFs are plugged otherwise if it says hybrid_plug.
const vif::PortProfileOpenVSwitch* ProfileOf(const vif::VifBase& vif) {
  if (!vif.port_profile.has_value()) return nullptr;
  if (const auto* plain = std::get_if<vif::PortProfileOpenVSwitch>(&*vif.port_profile))
    return plain;
  const auto* fast_path = std::get_if<vif::PortProfileFpOpenVSwitch>(&*vif.port_profile);
  if (fast_path != nullptr && !fast_path->hybrid_plug.value_or(false)) return fast_path;
  if (const auto* representor = std::get_if<vif::PortProfileOvsRepresentor>(&*vif.port_profile))
    return representor;
  throw UnsupportedVif("port profile " + std::string(ClassName(*vif.port_profile)) +
                       " for a port of Open vSwitch");
}

std::string Get(const ExternalIds& ids, const char* key, const std::string& fallback = "") {
  const auto found = ids.find(key);
  return found == ids.end() ? fallback : found->second;
}

std::string TagText(const std::optional<uint16_t>& vlan) {
  return vlan ? "tag " + std::to_string(*vlan) : "no tag";
}

/// One that ovs-vswitchd would take for the bridge's own, such as a tap that nobody holds. The
/// kernel's datapath has a kind of its own.
bool HasOtherLink(const std::string& bridge) {
  const auto link = RouteSocket().FindLink(bridge);
  return link && link->kind != "openvswitch";
}

void RequireNoOtherLink(OpenVSwitch& ovs, const std::string& bridge, const Deadline& deadline) {
  if (!HasOtherLink(bridge)) return;
  // Or a bridge of that name comes or goes just now.
  ovs.WaitUntilApplied(deadline);
  if (!HasOtherLink(bridge) || ovs.HasBridge(bridge, deadline)) return;
  throw HostInterfaceInUse(
      "bridge " + bridge +
      " is a network interface of the node, and none of Open vSwitch's bridges");
}

/// As the database has the kernel's, which an empty type stands for.
std::string DatapathName(const std::string& type) { return type.empty() ? "system" : type; }

/// Which datapath the node's bridges have is its operator's to say.
void RequireSameDatapath(const OvsPort& port, const vif::VifBase& vif) {
  const vif::PortProfileOpenVSwitch* profile = ProfileOf(vif);
  if (profile == nullptr || profile->datapath_type.value_or("").empty()) return;
  const std::string wanted = DatapathName(*profile->datapath_type);
  const std::string made = DatapathName(port.datapath_type);
  if (wanted == made) return;
  throw UnsupportedVif("bridge " + port.bridge +
                       " is missing and would be made with datapath_type " + made +
                       " ([os_vif_ovs] datapath_type), and $.port_profile.datapath_type is \"" +
                       Printable(wanted) + "\"");
}

}  // namespace

std::string NeutronPortOf(const vif::VifBase& vif) {
  const vif::PortProfileOpenVSwitch* profile = ProfileOf(vif);
  const std::string interface_id = profile != nullptr && profile->interface_id.has_value()
                                       ? *profile->interface_id
                                       : vif.id.value_or("");
  if (interface_id.empty())
    throw ParseError("$.port_profile.interface_id", "is not set, nor is $.id");
  return interface_id;
}

ExternalIds OwnerIds(const Attachment& attachment) {
  return {{OpenVSwitch::kContainerId, attachment.container_id},
          {OpenVSwitch::kNetwork, attachment.network},
          {kAttachmentIfname, attachment.ifname}};
}

ExternalIds OwnerIds(const Attachment& attachment, const std::string& pod_ifname) {
  ExternalIds ids = OwnerIds(attachment);
  ids[kPodIfname] = pod_ifname;
  return ids;
}

OvsPort PortFor(const vif::VifBase& vif, const Plug& plug, const std::string& name,
                const Attachment& attachment, const BindingConfig& config) {
  OvsPort port{.name = name,
               .bridge = plug.bridge,
               .external_ids = OwnerIds(attachment, plug.ifname),
               .datapath_type = config.datapath_type,
               .isolated = config.isolate_vif,
               .vlan = config.port_vlan,
               .qos_type = config.default_qos_type};
  port.external_ids[OpenVSwitch::kNeutronPort] = NeutronPortOf(vif);
  port.external_ids["iface-status"] = "active";
  port.external_ids["attached-mac"] = vif.address->ToString();
  port.external_ids["vm-uuid"] = attachment.pod_uid;
  // OVN claims no port whose options:iface-id-ver says another one.
  port.external_ids["iface-id-ver"] = attachment.pod_uid;
  port.external_ids[kDriver] = plug.driver;
  if (plug.host_interface != name) port.external_ids[kHostInterface] = plug.host_interface;
  if (!plug.device.empty()) port.external_ids[kDevice] = plug.device;
  return port;
}

Attachment AttachmentOf(const OvsPort& port) {
  const ExternalIds& ids = port.external_ids;
  return {.network = Get(ids, OpenVSwitch::kNetwork),
          .container_id = Get(ids, OpenVSwitch::kContainerId),
          .ifname = Get(ids, kAttachmentIfname),
          .pod_uid = Get(ids, "vm-uuid")};
}

Plug PlugOf(const OvsPort& port) {
  const ExternalIds& ids = port.external_ids;
  // Version 0.1 had that driver only.
  return {.driver = Get(ids, kDriver, "ovs"),
          .ifname = Get(ids, kPodIfname),
          .host_interface = Get(ids, kHostInterface, port.name),
          .bridge = port.bridge,
          .device = Get(ids, kDevice)};
}

AddedPort AddPort(OpenVSwitch& ovs, const OvsPort& port, const vif::VifBase& vif,
                  const BindingConfig& config, const Deadline& deadline) {
  auto result = ovs.AddPort(port, deadline, [&] {
    RequireNamedBridge(config, port.bridge, BridgeKind::kOpenVSwitch);
    RequireSameDatapath(port, vif);
    RequireNoOtherLink(ovs, port.bridge, deadline);
  });
  if (const auto* taken = std::get_if<TakenPort>(&result)) {
    Log(LogLevel::kWarning, "port of Open vSwitch is another's", {{"owner", taken->owner}});
    throw HostInterfaceInUse("port " + port.name + " of Open vSwitch is another's");
  }
  return std::get<AddedPort>(std::move(result));
}

std::optional<std::string> CheckPort(const std::optional<PortState>& state, const OvsPort& wanted,
                                     const BindingConfig& config) {
  const std::string what = "Open vSwitch port " + wanted.name;
  if (!state) return what + " is missing";
  if (state->bridge != wanted.bridge)
    return what + " is on bridge " + Printable(state->bridge) + " instead of " + wanted.bridge;
  for (const auto& [key, value] : wanted.external_ids) {
    // Neutron's agents set the one to other values in a port's life, and a plugin behind us in the
    // chain may have given the pod another MAC.
    if (key == "iface-status" || key == "attached-mac") continue;
    const auto found = state->external_ids.find(key);
    if (found != state->external_ids.end() && found->second == value) continue;
    const std::string present = found == state->external_ids.end() ? "" : found->second;
    std::string difference = what + " has external_ids:";
    difference.append(key).append(" \"").append(Printable(present));
    return difference.append("\" instead of \"").append(Printable(value)).append("\"");
  }
  if (config.owns_ports && state->is_trunk) return what + " has trunks or a vlan_mode";
  if (config.owns_ports && state->vlan != wanted.vlan)
    return what + " has " + TagText(state->vlan) + " instead of " + TagText(wanted.vlan);
  if (config.owns_ports && !wanted.qos_type.empty() && !state->has_qos)
    return what + " has no QoS row";
  if (!state->error.empty()) return what + " has the error " + Printable(state->error, 200);
  if (state->ofport < 1) return what + " has no OpenFlow port number";
  return std::nullopt;
}

}  // namespace kuryr::binding
