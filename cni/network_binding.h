#pragma once

#include "base/deadline.h"
#include "cni/config.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Sets what the network configuration says in the drivers' configuration: which Open vSwitch,
/// which bridge, a port's settings. For networks of ovs-cni calls PrepareOvsCni, and throws what
/// that throws.
void ApplyNetwork(Request& request, Config& config, const Deadline& deadline);

}  // namespace kuryr::cni
