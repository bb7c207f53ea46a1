#pragma once

#include "controller/config.h"

namespace kuryr::controller {

/// `kuryr-controller adopt --dry-run`: writes to stdout what a controller with this kuryr.conf
/// takes over, releases and leaves as it is once it leads: pods' plans, KuryrPorts, and ports of
/// Neutron that have the cluster's tags. It changes nothing. The exit status: 1 when something is
/// left that nobody looks after, or cannot be read. Throws what ApiClient does, and NeutronError.
[[nodiscard]] int PrintAdoption(const Config& config);

}  // namespace kuryr::controller
