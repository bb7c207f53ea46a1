#include "controller/plan/default_route.h"

#include <algorithm>
#include <set>

namespace kuryr::controller {
namespace {

vif::List<vif::Subnet>& SubnetsOf(vif::PodVif& vif) {
  return *vif::Common(vif.vif).network->subnets;
}

void DropGateways(vif::PodVif& vif, const std::set<IpFamily>& families) {
  for (vif::Subnet& subnet : *SubnetsOf(vif).objects) {
    if (subnet.gateway.has_value() && families.contains(subnet.gateway->family))
      subnet.gateway.reset();
  }
}

/// Adds default routes to the VIF's subnets; returns the families of their gateways.
std::set<IpFamily> SpellDefaultRoutes(vif::PodVif& vif) {
  std::set<IpFamily> families;
  for (vif::Subnet& subnet : *SubnetsOf(vif).objects) {
    if (!subnet.gateway.has_value()) continue;
    families.insert(subnet.gateway->family);
    if (!subnet.routes.has_value() || !subnet.routes->objects.has_value())
      subnet.routes = vif::RouteList{.objects = std::vector<vif::Route>()};
    subnet.routes->objects->push_back(
        {.cidr = IpNetwork::Default(subnet.gateway->family), .gateway = *subnet.gateway});
  }
  return families;
}

}  // namespace

void MoveDefaultRoute(std::vector<vif::PodVif>& vifs) {
  const auto first = std::find_if(vifs.begin(), vifs.end(), [](const vif::PodVif& vif) {
    return vif.ifname == vif::kDefaultIfname;
  });
  if (first == vifs.end() || first->is_default) return;
  std::set<IpFamily> families;
  for (vif::PodVif& vif : vifs) {
    if (vif.is_default) families = SpellDefaultRoutes(vif);
    vif.is_default = false;
  }
  DropGateways(*first, families);
  first->is_default = true;
  std::rotate(vifs.begin(), first, first + 1);
}

}  // namespace kuryr::controller
