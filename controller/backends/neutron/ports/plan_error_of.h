#pragma once

#include <optional>
#include <string>

#include "controller/backends/backend.h"
#include "controller/backends/neutron/api/neutron_error.h"
#include "controller/backends/neutron/api/port.h"
#include "controller/backends/neutron/networks/networks.h"

namespace kuryr::controller::neutron {

/// Tells a port's owner why Neutron refused it. `network`: the one that the port was to be in, or
/// nullptr while it is not known. `quota`: the project's, if Neutron refused for it and told it.
[[nodiscard]] PlanError PlanErrorOf(const NeutronError& error, const PodNetwork* network,
                                    const std::optional<PortQuota>& quota = std::nullopt);

}  // namespace kuryr::controller::neutron
