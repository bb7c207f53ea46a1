#pragma once

#include <vector>

#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// Makes eth0 the default interface and first in the plan, as nodes expect, when another interface
/// is the default. In the families for which that interface has gateways, eth0 loses its own, and
/// the other's subnets get default routes.
void MoveDefaultRoute(std::vector<vif::PodVif>& vifs);

}  // namespace kuryr::controller
