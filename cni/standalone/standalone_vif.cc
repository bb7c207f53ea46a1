#include "cni/standalone/standalone_vif.h"

#include <algorithm>

#include "base/hash.h"

namespace kuryr::cni {
namespace {

using Kind = StandaloneNetwork::Kind;

/// A hash of the attachment's key. Values for different `use` do not depend on each other.
uint64_t HashOf(const AttachmentKey& key, char use) {
  return Hash(key.network + ":" + key.container_id + ":" + key.ifname + ":" + use);
}

AttachmentKey KeyOf(const Request& request) {
  return {request.config.name, request.container_id, request.ifname};
}

std::string IdOf(const Request& request) {
  return UuidV8(HashOf(KeyOf(request), 'h'), HashOf(KeyOf(request), 'l'));
}

/// The MAC does not follow from an address: an IPAM plugin may need the MAC to ask for one.
MacAddress MacOf(const Request& request) {
  if (request.wishes.mac) return *request.wishes.mac;
  MacAddress mac{.bytes = {0x0e}};
  uint64_t hash = HashOf(KeyOf(request), 'm');
  for (size_t i = 1; i < mac.bytes.size(); ++i, hash >>= 8)
    mac.bytes[i] = static_cast<uint8_t>(hash);
  return mac;
}

vif::Subnet SubnetOf(const ResultIp& ip) {
  vif::Subnet subnet;
  subnet.cidr = ip.address;
  subnet.ips =
      vif::FixedIpList{.objects = std::vector<vif::FixedIp>{{.address = ip.address.address}}};
  return subnet;
}

/// The routes, to be put into one subnet: it does not matter which subnet has a route.
vif::RouteList RoutesOf(const Result& addresses) {
  std::vector<vif::Route> routes;
  for (const ResultRoute& route : addresses.routes) {
    if (IsExtraRoute(route)) continue;
    routes.push_back({.cidr = route.destination});
    if (route.gateway) routes.back().gateway = *route.gateway;
  }
  return {.objects = std::move(routes)};
}

vif::Network PlannedNetwork(const Request& request) {
  const StandaloneNetwork& standalone = *request.config.standalone;
  vif::Network network;
  network.id = IdOf(request);
  network.label = request.config.name;
  network.bridge = standalone.bridge;
  if (standalone.mtu != 0) network.mtu = standalone.mtu;
  if (standalone.kind == Kind::kBridge && standalone.vlan) {
    network.should_provide_bridge = true;
    network.should_provide_vlan = true;
    network.vlan = *standalone.vlan;
    network.bridge_interface = standalone.uplink;
  }
  network.subnets = vif::SubnetList{.objects = std::vector<vif::Subnet>()};
  return network;
}

template <typename T>
vif::Vif Fill(T vif, const Request& request, const char* plugin) {
  vif.id = IdOf(request);
  vif.address = MacOf(request);
  vif.network = PlannedNetwork(request);
  vif.plugin = plugin;
  vif.active = true;
  if constexpr (requires { vif.bridge_name; }) {
    vif.vif_name = StandaloneHostInterface(KeyOf(request));
    vif.bridge_name = request.config.standalone->bridge;
  } else {
    vif.dev_type = vif::HostDeviceType::kEthernet;
    vif.dev_address = *vif::PciAddress::Parse(request.wishes.device_id);
  }
  return vif;
}

vif::Vif VifOf(const Request& request) {
  if (request.config.standalone->kind == Kind::kBridge)
    return Fill(vif::VifBridge(), request, "linux_bridge");
  if (HasDevice(request)) return Fill(vif::VifHostDevice(), request, "ovs");
  return Fill(vif::VifOpenVSwitch(), request, "ovs");
}

IpAddress FirstOf(const IpNetwork& network) {
  IpAddress address = network.Masked().address;
  address.bytes[address.size() - 1] |= 1;
  return address;
}

}  // namespace

vif::PodVif MakeStandaloneVif(const Request& request) {
  return {.ifname = request.ifname, .is_default = true, .vif = VifOf(request)};
}

vif::PodVif WithAddresses(vif::PodVif vif, const Result& addresses) {
  std::vector<vif::Subnet> subnets;
  subnets.reserve(addresses.ips.size());
  for (const ResultIp& ip : addresses.ips) subnets.push_back(SubnetOf(ip));
  if (!subnets.empty()) subnets.front().routes = RoutesOf(addresses);
  vif::Common(vif.vif).network->subnets = vif::SubnetList{.objects = std::move(subnets)};
  return vif;
}

bool HasDevice(const Request& request) {
  return request.config.standalone->ovs_cni && !request.wishes.device_id.empty();
}

/// 40 bits of hash: few enough for an interface's name, enough for a node.
std::string StandaloneHostInterface(const AttachmentKey& key) {
  return "veth" + Hex(HashOf(key, 'v'), 10);
}

bool IsExtraRoute(const ResultRoute& route) {
  return route.mtu || route.advmss || route.priority || route.table || route.scope;
}

void FillGateways(Result& addresses) {
  for (ResultIp& ip : addresses.ips) {
    if (!ip.gateway) ip.gateway = FirstOf(ip.address);
  }
}

std::vector<IpNetwork> GatewaysOf(const Result& addresses) {
  std::vector<IpNetwork> gateways;
  for (const ResultIp& ip : addresses.ips) {
    if (!ip.gateway) continue;
    const IpNetwork gateway = {*ip.gateway, ip.address.prefix_length};
    if (std::find(gateways.begin(), gateways.end(), gateway) == gateways.end())
      gateways.push_back(gateway);
  }
  return gateways;
}

}  // namespace kuryr::cni
