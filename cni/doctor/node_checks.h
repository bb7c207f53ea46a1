#pragma once

#include "cni/config.h"
#include "cni/doctor/finding.h"

namespace kuryr::cni::doctor {

/// Checks the node's own part in its pods' network ([node_network]), as kuryr-daemon knows it.
/// Empty where the section is off.
[[nodiscard]] Findings CheckNodeNetwork(const Config& config);

}  // namespace kuryr::cni::doctor
