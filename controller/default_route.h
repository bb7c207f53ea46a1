#pragma once

#include <vector>

#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// The node knows a pod's default interface by the name eth0, and gives it the default route. Where
/// another one is the default, eth0 takes its place in the plan and loses its gateways of the
/// families that the other one has, which gets its default routes as routes of its subnets. eth0 is
/// the first then.
void MoveDefaultRoute(std::vector<vif::PodVif>& vifs);

}  // namespace kuryr::controller
