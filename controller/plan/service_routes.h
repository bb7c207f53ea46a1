#pragma once

#include <vector>

#include "base/ip.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// Adds routes to the Services of the cluster to a pod's VIFs, by the pod's own node. A route goes
/// into each subnet that has an address of the node's management port, `node`, which is not the
/// subnet's gateway. Pods with such a gateway reach Services by their default route.
void RouteServices(std::vector<vif::PodVif>& pod, const std::vector<vif::PodVif>& node,
                   const std::vector<IpNetwork>& services);

}  // namespace kuryr::controller
