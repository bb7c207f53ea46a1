#include "controller/plan/service_routes.h"

#include <algorithm>
#include <optional>

namespace kuryr::controller {
namespace {

std::optional<IpAddress> AddressIn(const IpNetwork& cidr, const std::vector<vif::PodVif>& node) {
  for (const vif::PodVif& vif : node) {
    for (const IpNetwork& address : vif::AddressesOf(vif::Common(vif.vif))) {
      if (cidr.Contains(address.address)) return address.address;
    }
  }
  return std::nullopt;
}

bool HasRoute(const vif::RouteList& routes, const IpNetwork& destination) {
  return std::any_of(routes.objects->begin(), routes.objects->end(),
                     [&](const vif::Route& route) { return route.cidr == destination; });
}

void RouteBy(const IpAddress& node, const std::vector<IpNetwork>& services, vif::Subnet& subnet) {
  if (subnet.gateway.has_value() && *subnet.gateway == node) return;
  if (!subnet.routes.has_value() || !subnet.routes->objects.has_value())
    subnet.routes = vif::RouteList{.objects = std::vector<vif::Route>()};
  for (const IpNetwork& service : services) {
    if (service.address.family == node.family && !HasRoute(*subnet.routes, service))
      subnet.routes->objects->push_back({.cidr = service, .gateway = node});
  }
}

}  // namespace

void RouteServices(std::vector<vif::PodVif>& pod, const std::vector<vif::PodVif>& node,
                   const std::vector<IpNetwork>& services) {
  for (vif::PodVif& vif : pod) {
    vif::VifBase& common = vif::Common(vif.vif);
    if (!common.network.has_value() || !common.network->subnets.has_value()) continue;
    for (vif::Subnet& subnet : *common.network->subnets->objects) {
      if (!subnet.cidr.has_value()) continue;
      if (const auto address = AddressIn(*subnet.cidr, node)) RouteBy(*address, services, subnet);
    }
  }
}

}  // namespace kuryr::controller
