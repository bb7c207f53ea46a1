#include "controller/backends/neutron/vifs/port_vif.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "controller/backends/backend.h"

namespace kuryr::controller::neutron {
namespace {

/// kuryr.lib's NIC_NAME_LEN.
constexpr size_t kLongestLink = 14;

[[noreturn]] void RefusePort(const Port& port, const std::string& why) {
  throw PlanError(PlanError::Kind::kRefused, "Neutron's port " + port.id + " " + why);
}

std::string NameOf(const char* prefix, const Port& port) {
  return (prefix + port.id).substr(0, kLongestLink);
}

vif::Subnet SubnetOf(const Subnet& subnet) {
  vif::Subnet made;
  made.cidr = subnet.cidr;
  made.dns = subnet.dns;
  if (subnet.gateway) made.gateway = *subnet.gateway;
  made.ips = vif::FixedIpList{.objects = std::vector<vif::FixedIp>()};
  std::vector<vif::Route> routes;
  routes.reserve(subnet.host_routes.size());
  for (const HostRoute& route : subnet.host_routes)
    routes.push_back({.cidr = route.destination, .gateway = route.next_hop});
  made.routes = vif::RouteList{.objects = std::move(routes)};
  return made;
}

/// In the order of the port's addresses.
std::vector<vif::Subnet> SubnetsOf(const Port& port, const PodNetwork& network) {
  std::vector<vif::Subnet> subnets;
  std::vector<std::string> ids;
  for (const FixedIp& ip : port.fixed_ips) {
    const Subnet* subnet = network.Find(ip.subnet_id);
    if (subnet == nullptr) continue;
    auto id = std::find(ids.begin(), ids.end(), ip.subnet_id);
    if (id == ids.end()) {
      id = ids.insert(id, ip.subnet_id);
      subnets.push_back(SubnetOf(*subnet));
    }
    subnets[static_cast<size_t>(id - ids.begin())].ips->objects->push_back({.address = ip.address});
  }
  if (subnets.empty()) RefusePort(port, "has no address of the pod's subnets");
  return subnets;
}

vif::Network NetworkOf(const Port& port, const PodNetwork& network) {
  vif::Network made;
  made.id = network.network.id;
  made.label = network.network.name;
  if (network.network.mtu != 0) made.mtu = network.network.mtu;
  if (network.network.vlan) {
    made.should_provide_vlan = true;
    made.vlan = *network.network.vlan;
  }
  made.subnets = vif::SubnetList{.objects = SubnetsOf(port, network)};
  return made;
}

/// Sets the fields that all kinds have.
template <typename Kind>
Kind Fill(const Port& port, vif::Network network, const char* plugin) {
  Kind vif;
  vif.id = port.id;
  vif.address = port.mac;
  vif.network = std::move(network);
  vif.plugin = plugin;
  vif.active = port.active;
  vif.preserve_on_delete = false;
  vif.has_traffic_filtering = port.vif_details.port_filter;
  vif.vif_name = NameOf("tap", port);
  return vif;
}

vif::PortProfile ProfileOf(const Port& port) {
  vif::PortProfileOpenVSwitch profile;
  profile.interface_id = port.id;
  if (!port.vif_details.datapath_type.empty())
    profile.datapath_type = port.vif_details.datapath_type;
  return profile;
}

vif::Vif VHostUserOf(const Port& port, vif::Network network, const PodDefaults& defaults) {
  auto vif = Fill<vif::VifVHostUser>(port, std::move(network), "ovs");
  vif.port_profile = ProfileOf(port);
  const std::string name = NameOf("vhu", port);
  vif.vif_name = name;
  vif.path = defaults.vhostuser_folder + "/" + name;
  if (port.vif_details.vhostuser_mode == "client") {
    vif.mode = vif::VHostUserMode::kClient;
  } else if (port.vif_details.vhostuser_mode == "server") {
    vif.mode = vif::VHostUserMode::kServer;
  } else {
    RefusePort(port, "has vhostuser_mode \"" + Printable(port.vif_details.vhostuser_mode) + "\"");
  }
  return vif;
}

vif::Vif SwitchPortOf(const Port& port, const PodNetwork& pod_network,
                      const PodDefaults& defaults) {
  const VifDetails& details = port.vif_details;
  const std::string bridge = details.bridge_name.empty() ? defaults.bridge : details.bridge_name;
  vif::Network network = NetworkOf(port, pod_network);
  network.bridge = bridge;
  if (!details.vhostuser_mode.empty()) return VHostUserOf(port, std::move(network), defaults);
  if (details.ovs_hybrid_plug) {
    auto vif = Fill<vif::VifBridge>(port, std::move(network), "ovs");
    vif.port_profile = ProfileOf(port);
    vif.bridge_name = NameOf("qbr", port);
    return vif;
  }
  auto vif = Fill<vif::VifOpenVSwitch>(port, std::move(network), "ovs");
  vif.port_profile = ProfileOf(port);
  vif.bridge_name = bridge;
  return vif;
}

vif::Vif SriovOf(const Port& port, const PodNetwork& network) {
  auto vif = Fill<vif::VifSriov>(port, NetworkOf(port, network), "sriov");
  vif.mode = vif::DirectMode::kPassthrough;
  vif.vlan_name = network.network.vlan ? std::to_string(*network.network.vlan) : "";
  return vif;
}

void RequireNetwork(const Port& port, const PodNetwork& network) {
  if (port.network_id != network.network.id)
    RefusePort(port, "is in network " + port.network_id + ", not in " + network.network.id);
}

bool NamesItself(const vif::VifBase& vif) {
  if (!vif.port_profile.has_value()) return false;
  const auto* profile = std::get_if<vif::PortProfileOpenVSwitch>(&*vif.port_profile);
  return profile != nullptr && profile->interface_id == vif.id;
}

}  // namespace

bool IsUnbound(const Port& port) {
  return port.vif_type == "binding_failed" || port.vif_type == "unbound";
}

vif::Vif VifOf(const Port& port, const PodNetwork& network, const PodDefaults& defaults) {
  RequireNetwork(port, network);
  if (port.vif_type == "ovs" || port.vif_type == "vhostuser")
    return SwitchPortOf(port, network, defaults);
  if (port.vif_type == "hw_veb") return SriovOf(port, network);
  if (port.vif_type.empty()) {
    RefusePort(
        port,
        "comes without binding:vif_type: the credentials of [neutron] need the role admin, or a "
        "policy that shows it");
  }
  RefusePort(port, "has binding:vif_type \"" + Printable(port.vif_type) +
                       "\"; expected ovs, vhostuser or hw_veb");
}

vif::Vif VlanVifOf(const Port& port, const PodNetwork& network, uint16_t vlan) {
  RequireNetwork(port, network);
  auto vif = Fill<vif::VifVlanNested>(port, NetworkOf(port, network), "noop");
  vif.vlan_id = vlan;
  return vif;
}

vif::Vif MacvlanVifOf(const Port& port, const PodNetwork& network) {
  RequireNetwork(port, network);
  auto vif = Fill<vif::VifMacvlanNested>(port, NetworkOf(port, network), "noop");
  vif.active = true;
  return vif;
}

bool IsNeutrons(const std::string& id) {
  constexpr size_t kVersion = 14;
  return IsUuid(id) && id[kVersion] != '8';
}

bool IsPortVif(const vif::Vif& vif) {
  const vif::VifBase& common = vif::Common(vif);
  if (!IsNeutrons(common.id.value_or(""))) return false;
  if (std::holds_alternative<vif::VifSriov>(vif)) return true;
  const bool is_switch_port = std::holds_alternative<vif::VifOpenVSwitch>(vif) ||
                              std::holds_alternative<vif::VifBridge>(vif) ||
                              std::holds_alternative<vif::VifVHostUser>(vif);
  return is_switch_port && common.plugin == vif::Field<std::string>("ovs") && NamesItself(common);
}

}  // namespace kuryr::controller::neutron
