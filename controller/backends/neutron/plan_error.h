#pragma once

#include <optional>
#include <string>

#include "controller/backends/backend.h"
#include "controller/backends/neutron/networks.h"
#include "controller/backends/neutron/neutron_error.h"
#include "controller/backends/neutron/port.h"

namespace kuryr::controller::neutron {

/// What Neutron's refusal of a port means for its owner. `network`: what the port was to be in, or
/// nullptr while that is not known. `quota`: of a refusal of that kind, if it is known.
[[nodiscard]] BackendError PlanErrorOf(const NeutronError& error, const PodNetwork* network,
                                       const std::optional<PortQuota>& quota = std::nullopt);

}  // namespace kuryr::controller::neutron
