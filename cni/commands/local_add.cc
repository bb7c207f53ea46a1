#include "cni/commands/local_add.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "binding/interfaces.h"
#include "binding/node/local_bridge.h"
#include "cni/local/delegate.h"
#include "cni/local/local_vif.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

using Kind = LocalNetwork::Kind;

/// What the runtime asks for, where nobody gives addresses.
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

binding::HairpinMode HairpinOf(const LocalNetwork& local) {
  if (local.promisc_mode) return binding::HairpinMode::kPromiscuousBridge;
  return local.hairpin_mode ? binding::HairpinMode::kHairpinVeth : binding::HairpinMode::kNone;
}

/// The bridge that the pods are on; one with a VLAN is the driver's to make.
bool MakesBridge(const LocalNetwork& local) {
  return local.kind == Kind::kBridge && local.uplink.empty();
}

binding::LocalBridge BridgeOf(const LocalNetwork& local) {
  return {.name = local.bridge, .mtu = local.mtu, .hairpin = HairpinOf(local)};
}

void MakeGateway(const LocalNetwork& local, const std::vector<IpNetwork>& gateways) {
  binding::LocalBridge bridge = BridgeOf(local);
  bridge.gateways = gateways;
  if (local.ip_masq) bridge.non_masquerade_cidrs = gateways;
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

/// Those that a VIF has no words for (CNI 1.1.0).
std::vector<binding::LinkRoute> ExtraRoutesOf(const Result& addresses) {
  std::vector<binding::LinkRoute> routes;
  for (const ResultRoute& route : addresses.routes) {
    if (IsExtraRoute(route)) routes.push_back(LinkRouteOf(route));
  }
  return routes;
}

/// The bridge first, as the reference plugin tells it.
void AddBridge(const LocalNetwork& local, Result& result) {
  binding::RouteSocket host;
  const binding::Interface bridge = binding::Describe(binding::Find(host, local.bridge), false);
  result.interfaces.insert(result.interfaces.begin(),
                           {.name = bridge.name, .mac = bridge.mac.ToString(), .mtu = bridge.mtu});
}

Result ResultOf(const Request& request, const PodPlugs& plugs, const Result& addresses) {
  Result result = MakeResult(plugs.plugged(), request.netns);
  if (request.config.local->kind == Kind::kBridge) AddBridge(*request.config.local, result);
  // IPAM says more of them than a VIF does.
  result.ips = addresses.ips;
  for (ResultIp& ip : result.ips) ip.interface = result.interfaces.size() - 1;
  result.routes = addresses.routes;
  result.dns = request.config.dns.empty() ? addresses.dns : request.config.dns;
  return result;
}

}  // namespace

Result AddLocal(const Request& request, PodPlugs& plugs, const Deadline& deadline) {
  const LocalNetwork& local = *request.config.local;
  const bool is_gateway = MakesBridge(local) && local.is_gateway;
  std::optional<Delegate> delegate;
  if (!request.config.ipam.empty()) delegate.emplace(request, request.config.json);
  if (MakesBridge(local)) binding::MakeLocalBridge(BridgeOf(local));
  const vif::PodVif vif = MakeLocalVif(request);
  plugs.PlanLink(vif, DelegateConfig(request));
  plugs.Plug();
  Result addresses = delegate ? delegate->Add(deadline) : AskedAddresses(request);
  if (delegate && is_gateway) FillGateways(addresses);
  const std::vector<IpNetwork> gateways = GatewaysOf(addresses);
  if (local.is_default_gateway) AddDefaultRoutes(gateways, addresses);
  NameGateways(gateways, addresses);
  if (is_gateway && !gateways.empty()) MakeGateway(local, gateways);
  plugs.Configure(WithAddresses(vif, addresses), ExtraRoutesOf(addresses));
  return ResultOf(request, plugs, addresses);
}

}  // namespace kuryr::cni
