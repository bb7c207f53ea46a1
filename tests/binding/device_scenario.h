#pragma once

#include <vector>

#include "tests/binding/plug_scenario.h"

namespace kuryr::binding {

/// Drivers whose pods get devices, or what DPDK makes of them. Pods 1 and 2 at most.
const std::vector<PlugScenario>& DeviceScenarios();

}  // namespace kuryr::binding
