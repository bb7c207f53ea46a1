#pragma once

#include <string>

#include "controller/backend.h"
#include "controller/neutron/networks.h"
#include "controller/neutron/neutron_error.h"

namespace kuryr::controller::neutron {

/// What Neutron's refusal of a port means for its owner. `network`: what the port was to be in, or
/// nullptr while that is not known.
[[nodiscard]] BackendError PlanErrorOf(const NeutronError& error, const PodNetwork* network);

}  // namespace kuryr::controller::neutron
