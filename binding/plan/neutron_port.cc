#include "binding/plan/neutron_port.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace kuryr::binding {
namespace {

/// Keys of external_ids beside those that OpenVSwitch knows.
constexpr const char* kAttachmentIfname = "kuryr-ifname";
constexpr const char* kDriver = "kuryr-driver";
constexpr const char* kPodIfname = "kuryr-pod-ifname";
/// Only where it is not the port itself.
constexpr const char* kHostInterface = "kuryr-host-interface";
/// Only where the plug has one.
constexpr const char* kDevice = "kuryr-device";

/// The VIF's profile for Open vSwitch; null without a profile. FPOpenVSwitch is for fast-path
/// switches; with hybrid_plug their VIFs are plugged in another way.
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

/// The datapath_type that the port profile wants for a missing bridge; empty: any.
std::string DatapathTypeOf(const vif::VifBase& vif) {
  const vif::PortProfileOpenVSwitch* profile = ProfileOf(vif);
  return profile == nullptr ? "" : profile->datapath_type.value_or("");
}

std::string NamesOf(const std::vector<PortMirror>& mirrors) {
  std::string names;
  for (const PortMirror& mirror : mirrors) names += (names.empty() ? "" : ",") + mirror.name;
  return names;
}

std::string Get(const ExternalIds& ids, const char* key, const std::string& fallback = "") {
  const auto found = ids.find(key);
  return found == ids.end() ? fallback : found->second;
}

bool IsWhole(const IpNetwork& address) {
  return address.prefix_length == address.address.size() * 8;
}

bool HasRouteOnLink(const vif::Subnet& subnet) {
  return subnet.routes.has_value() &&
         std::any_of(subnet.routes->begin(), subnet.routes->end(),
                     [](const vif::Route& route) { return !route.gateway.has_value(); });
}

/// Whether the VIF's gateways are its only neighbours: no subnet has more than the VIF's own
/// address on the link.
bool StandsAlone(const vif::VifBase& vif) {
  if (!vif.network.has_value() || !vif.network->subnets.has_value()) return false;
  const auto& subnets = *vif.network->subnets;
  return !subnets.empty() &&
         std::all_of(subnets.begin(), subnets.end(), [&](const vif::Subnet& subnet) {
           const std::vector<IpNetwork> addresses = vif::FixedIpsOf(vif, subnet);
           return subnet.gateway.has_value() && !HasRouteOnLink(subnet) &&
                  std::all_of(addresses.begin(), addresses.end(), IsWhole);
         });
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

void RequireNoRepresentor(const vif::Vif& vif) {
  const auto& profile = Common(vif).port_profile;
  if (!profile.has_value() || !std::holds_alternative<vif::PortProfileOvsRepresentor>(*profile))
    return;
  throw UnsupportedVif(std::string(ClassName(vif)) + " with port profile " +
                       std::string(ClassName(*profile)));
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

void PlanPort(const vif::VifBase& vif, const Plug& plug, const std::string& name,
              const BindingConfig& config, Planned& planned) {
  OvsPort port{.name = name,
               .bridge = plug.bridge,
               .type = config.port.interface_type,
               .datapath_type = config.datapath_type,
               .isolated = config.isolate_vif,
               .is_protected = StandsAlone(vif),
               .transient = config.transient_ports,
               .settings = config.port,
               .qos_type = config.default_qos_type};
  const std::string& iface_id = config.port.iface_id;
  port.external_ids = {
      {OpenVSwitch::kNeutronPort, iface_id.empty() ? NeutronPortOf(vif) : iface_id},
      {"iface-status", "active"},
      {"attached-mac", planned.mac.ToString()},
      {kDriver, plug.driver},
      {kPodIfname, plug.ifname}};
  if (!config.port.mirrors.empty())
    port.external_ids[OpenVSwitch::kMirrors] = NamesOf(config.port.mirrors);
  if (plug.host_interface != name) port.external_ids[kHostInterface] = plug.host_interface;
  if (!plug.device.empty()) port.external_ids[kDevice] = plug.device;
  planned.port = std::move(port);
  planned.datapath_type = DatapathTypeOf(vif);
}

void PlanPortSecurity(const vif::VifBase& vif, const BindingConfig& config, Planned& planned) {
  OvsPort& port = planned.port.value();
  const vif::PortProfileOpenVSwitch* profile = ProfileOf(vif);
  const bool is_free = config.trusts_plans && profile != nullptr &&
                       profile->profile_id.value_or("") == vif::kNoPortSecurity;
  if (!config.port_security || !port.is_protected || config.owns_ports || is_free) return;
  port.security.emplace().mac = planned.mac;
  for (const IpNetwork& own : vif::AddressesOf(vif))
    port.security->addresses.push_back(own.address);
  port.external_ids[kPortSecurity] = "true";
}

OvsPort OwnedPort(const Planned& planned, const Attachment& attachment) {
  OvsPort port = planned.port.value();
  port.external_ids.merge(OwnerIds(attachment));
  port.external_ids[OpenVSwitch::kPodUid] = attachment.pod_uid;
  // OVN claims no port whose options:iface-id-ver says another one.
  port.external_ids["iface-id-ver"] = attachment.pod_uid;
  return port;
}

Attachment AttachmentOf(const OvsPort& port) {
  const ExternalIds& ids = port.external_ids;
  return {.network = Get(ids, OpenVSwitch::kNetwork),
          .container_id = Get(ids, OpenVSwitch::kContainerId),
          .ifname = Get(ids, kAttachmentIfname),
          .pod_uid = Get(ids, OpenVSwitch::kPodUid)};
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

}  // namespace kuryr::binding
