#pragma once

#include <vector>

#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// The node knows a pod's default interface by the name eth0, and gives it the default route. Where
/// another one is the default, eth0 becomes the first of the plan. In the families that the other
/// one has, eth0 loses its gateways, and the other's subnets get default routes.
void MoveDefaultRoute(std::vector<vif::PodVif>& vifs);

}  // namespace kuryr::controller
