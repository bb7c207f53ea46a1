#pragma once

#include <string>

#include "controller/config.h"

namespace kuryr::controller {

/// `kuryr-controller adopt --from podstate`: writes the plans of pools that an earlier vif_sink,
/// `podstate` or `vif`, left in pods' annotations to KuryrPorts, each as a line on stdout. A pod's
/// user may have written such an annotation: a plan that no controller would give the pod, or that
/// has another pod's address, is left and named. May be repeated. The exit status: 1 when one is
/// left. Throws std::runtime_error while a controller leads, for another `from`, where vif_sink is
/// not kuryrport, and with Neutron, whose ports are found without it; and what ApiClient does.
[[nodiscard]] int MovePlans(const Config& config, const std::string& from);

}  // namespace kuryr::controller
