#pragma once

#include "controller/config.h"

namespace kuryr::controller {

/// `kuryr-controller adopt --from podstate`: moves pool plans that an earlier vif_sink, `podstate`
/// or `vif`, left in pods' annotations to KuryrPorts. Prints a line for each plan. A pod's user may
/// have written such an annotation. A plan that no controller would give the pod, or that has
/// another pod's address, is left and named. May be repeated. The exit status is 1 if a plan is
/// left. Throws what ApiClient does, and std::runtime_error while a controller leads, if vif_sink
/// is not kuryrport, and with Neutron, whose ports are found without it.
[[nodiscard]] int MovePlans(const Config& config);

}  // namespace kuryr::controller
