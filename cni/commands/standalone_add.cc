#include "cni/commands/standalone_add.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "binding/links/interfaces.h"
#include "binding/node/local_bridge.h"
#include "cni/protocol/error.h"
#include "cni/standalone/delegate.h"
#include "cni/standalone/standalone_vif.h"

namespace kuryr::cni {
namespace {

using Kind = StandaloneNetwork::Kind;

/// The addresses that the runtime asks for, in a network without an IPAM plugin.
Result AskedAddresses(const Request& request) {
  Result asked;
  for (const IpNetwork& ip : request.wishes.ips)
    asked.ips.push_back({.address = ip, .gateway = std::nullopt, .interface = std::nullopt});
  return asked;
}

std::string DelegateConfig(const Request& request) {
  if (request.config.ipam.empty()) return {};
  return request.config.json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void AddDefaultRoutes(const std::vector<IpNetwork>& gateways, Result& addresses) {
  for (const IpNetwork& gateway : gateways) {
    const IpNetwork everywhere = IpNetwork::Default(gateway.address.family);
    const bool known =
        std::any_of(addresses.routes.begin(), addresses.routes.end(),
                    [&](const ResultRoute& route) { return route.destination == everywhere; });
    if (!known) addresses.routes.push_back({.destination = everywhere, .gateway = gateway.address});
  }
}

/// A route for which IPAM names no gateway leads through the first of its family.
void NameGateways(const std::vector<IpNetwork>& gateways, Result& addresses) {
  for (ResultRoute& route : addresses.routes) {
    if (route.gateway || route.scope) continue;
    const auto gateway = std::find_if(gateways.begin(), gateways.end(), [&](const auto& known) {
      return known.address.family == route.destination.address.family;
    });
    if (gateway != gateways.end()) route.gateway = gateway->address;
  }
}

binding::HairpinMode HairpinOf(const StandaloneNetwork& network) {
  if (network.promisc_mode) return binding::HairpinMode::kPromiscuousBridge;
  return network.hairpin_mode ? binding::HairpinMode::kHairpinVeth : binding::HairpinMode::kNone;
}

/// Whether we make the pods' bridge. The driver makes a bridge with a VLAN.
bool MakesBridge(const StandaloneNetwork& network) {
  return network.kind == Kind::kBridge && network.uplink.empty();
}

binding::LocalBridge BridgeOf(const StandaloneNetwork& network) {
  return {.name = network.bridge, .mtu = network.mtu, .hairpin = HairpinOf(network)};
}

void MakeGateway(const StandaloneNetwork& network, const std::vector<IpNetwork>& gateways) {
  binding::LocalBridge bridge = BridgeOf(network);
  bridge.gateways = gateways;
  if (network.ip_masq) bridge.non_masquerade_cidrs = gateways;
  binding::GiveGateways(bridge);
}

binding::LinkRoute LinkRouteOf(const ResultRoute& route) {
  binding::LinkRoute out{.destination = route.destination,
                         .gateway = route.gateway,
                         .metric = route.priority.value_or(0),
                         .table = route.table.value_or(0),
                         .mtu = route.mtu.value_or(0),
                         .advmss = route.advmss.value_or(0)};
  if (route.scope) out.scope = static_cast<uint8_t>(*route.scope);
  return out;
}

/// The routes that a VIF cannot express (CNI 1.1.0).
std::vector<binding::LinkRoute> ExtraRoutesOf(const Result& addresses) {
  std::vector<binding::LinkRoute> routes;
  for (const ResultRoute& route : addresses.routes) {
    if (IsExtraRoute(route)) routes.push_back(LinkRouteOf(route));
  }
  return routes;
}

/// Puts the bridge first, as the reference plugin does.
void AddBridge(const StandaloneNetwork& network, Result& result) {
  binding::RouteSocket host;
  const binding::Interface bridge = binding::Describe(binding::Find(host, network.bridge), false);
  result.interfaces.insert(result.interfaces.begin(),
                           {.name = bridge.name, .mac = bridge.mac.ToString(), .mtu = bridge.mtu});
}

Result ResultOf(const Request& request, const PodPlugs& plugs, const Result& addresses) {
  Result result = MakeResult(plugs.plugged(), request.netns);
  if (request.config.standalone->kind == Kind::kBridge)
    AddBridge(*request.config.standalone, result);
  // IPAM's addresses and routes have more fields than a VIF's.
  result.ips = addresses.ips;
  for (ResultIp& ip : result.ips) ip.interface = result.interfaces.size() - 1;
  result.routes = addresses.routes;
  result.dns = request.config.dns.empty() ? addresses.dns : request.config.dns;
  return result;
}

}  // namespace

Result AddStandalone(const Request& request, PodPlugs& plugs, const Deadline& deadline) {
  const StandaloneNetwork& network = *request.config.standalone;
  const bool is_gateway = MakesBridge(network) && network.is_gateway;
  std::optional<Delegate> delegate;
  if (!request.config.ipam.empty()) delegate.emplace(request, request.config.json);
  if (MakesBridge(network)) binding::MakeLocalBridge(BridgeOf(network));
  const vif::PodVif vif = MakeStandaloneVif(request);
  plugs.PlanLink(vif, DelegateConfig(request));
  plugs.Plug();
  Result addresses = delegate ? delegate->Add(deadline) : AskedAddresses(request);
  if (delegate && is_gateway) FillGateways(addresses);
  const std::vector<IpNetwork> gateways = GatewaysOf(addresses);
  if (network.is_default_gateway) AddDefaultRoutes(gateways, addresses);
  NameGateways(gateways, addresses);
  if (is_gateway && !gateways.empty()) MakeGateway(network, gateways);
  plugs.Configure(WithAddresses(vif, addresses), ExtraRoutesOf(addresses));
  return ResultOf(request, plugs, addresses);
}

}  // namespace kuryr::cni
