#include "controller/backends/pools/pool_vif.h"

#include <utility>

#include "base/hash.h"

namespace kuryr::controller::pools {
namespace {

/// A UUID that anybody can compute: it marks this backend's VIFs, and does not detect forged ones.
std::string UuidOf(const std::string& what) {
  const uint64_t high = Hash("kuryr-controller/backends/pools/" + what);
  return UuidV8(high, Hash("low", high));
}

vif::Subnet SubnetOf(const Allocator::Network& network, const Pool& pool) {
  const IpFamily family = network.cidr.address.family;
  std::vector<IpAddress> dns;
  for (const IpAddress& server : pool.dns) {
    if (server.family == family) dns.push_back(server);
  }
  std::vector<vif::Route> routes;
  for (const PoolRoute& route : pool.routes) {
    if (route.destination.address.family != family) continue;
    routes.push_back({.cidr = route.destination});
    if (route.gateway) routes.back().gateway = *route.gateway;
  }
  vif::Subnet subnet;
  subnet.cidr = network.cidr;
  subnet.dns = std::move(dns);
  if (network.gateway) subnet.gateway = *network.gateway;
  subnet.ips = vif::FixedIpList{.objects = std::vector<vif::FixedIp>()};
  subnet.routes = vif::RouteList{.objects = std::move(routes)};
  return subnet;
}

/// The network on the link of whoever has the address. In a routed pool, a pod has none but its own
/// address, and the node, which has the gateway, has all of the network.
IpNetwork CidrFor(const IpAddress& address, const Allocator::Network& network, const Pool& pool) {
  if (!pool.routed || network.gateway == address) return network.cidr;
  return {.address = address,
          .prefix_length = static_cast<uint8_t>(address.family == IpFamily::kIpv4 ? 32 : 128)};
}

vif::SubnetList SubnetsOf(const Holding& holding, const Allocator& allocator) {
  std::vector<vif::Subnet> subnets;
  for (const Number number : holding.addresses) {
    const IpAddress address = AddressOf(number);
    const Allocator::Network* network = allocator.FindNetwork(number);
    const IpNetwork cidr = CidrFor(address, *network, allocator.pool());
    auto subnet = std::find_if(subnets.begin(), subnets.end(),
                               [&](const vif::Subnet& known) { return *known.cidr == cidr; });
    if (subnet == subnets.end()) {
      subnet = subnets.insert(subnet, SubnetOf(*network, allocator.pool()));
      subnet->cidr = cidr;
    }
    subnet->ips->objects->push_back({.address = address});
    if (network->gateway == address) subnet->gateway.reset();
  }
  return {.objects = std::move(subnets)};
}

vif::Network NetworkOf(const Holding& holding, const Allocator& allocator) {
  const Pool& pool = allocator.pool();
  vif::Network network;
  network.id = NetworkIdOf(pool.name);
  network.label = pool.name;
  if (!pool.bridge.empty()) network.bridge = pool.bridge;
  if (pool.mtu) network.mtu = *pool.mtu;
  if (pool.vlan) {
    network.should_provide_bridge = true;
    network.should_provide_vlan = true;
    network.vlan = *pool.vlan;
    network.bridge_interface = pool.bridge_interface;
  }
  network.subnets = SubnetsOf(holding, allocator);
  return network;
}

/// The fields that all kinds of VIF have; names are as in kuryr-kubernetes.
template <typename Kind>
Kind Fill(const std::string& id, const char* plugin, const Holding& holding,
          const Allocator& allocator) {
  Kind vif;
  vif.id = id;
  vif.address = holding.mac;
  vif.network = NetworkOf(holding, allocator);
  vif.plugin = plugin;
  vif.active = true;
  vif.preserve_on_delete = false;
  vif.has_traffic_filtering = false;
  vif.vif_name = "tap" + id.substr(0, 11);
  return vif;
}

vif::Vif VifOf(const std::string& id, const Holding& holding, const Allocator& allocator) {
  switch (allocator.pool().kind) {
    case VifKind::kBridge: {
      auto vif = Fill<vif::VifBridge>(id, "linux_bridge", holding, allocator);
      vif.bridge_name = allocator.pool().bridge;
      return vif;
    }
    case VifKind::kMacvlan:
      return Fill<vif::VifMacvlanNested>(id, "noop", holding, allocator);
    case VifKind::kVlan: {
      auto vif = Fill<vif::VifVlanNested>(id, "noop", holding, allocator);
      vif.vlan_id = holding.vlan;
      return vif;
    }
    case VifKind::kOvs:
      break;
  }
  auto vif = Fill<vif::VifOpenVSwitch>(id, "ovs", holding, allocator);
  vif.bridge_name = allocator.pool().bridge;
  vif::PortProfileOpenVSwitch profile;
  profile.interface_id = id;
  if (!allocator.pool().port_security.value_or(true)) profile.profile_id = vif::kNoPortSecurity;
  vif.port_profile = vif::PortProfile(std::move(profile));
  return vif;
}

}  // namespace

std::string VifIdOf(const std::string& owner_id, const std::string& ifname) {
  return UuidOf("vif/" + owner_id + "/" + ifname);
}

std::string NetworkIdOf(const std::string& pool) { return UuidOf("network/" + pool); }

vif::PodVif MakeVif(const std::string& owner_id, const Holding& holding,
                    const Allocator& allocator) {
  return {.ifname = holding.ifname,
          .is_default = holding.is_default,
          .vif = VifOf(VifIdOf(owner_id, holding.ifname), holding, allocator)};
}

}  // namespace kuryr::controller::pools
