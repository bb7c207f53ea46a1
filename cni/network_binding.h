#pragma once

#include "base/deadline.h"
#include "cni/config.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Tells the drivers what the network configuration says to them: which Open vSwitch, which bridge,
/// what a port gets. Of networks of ovs-cni it also finds out what these leave open, as
/// PrepareOvsCni, which see for what it throws.
void ApplyNetwork(Request& request, Config& config, const Deadline& deadline);

}  // namespace kuryr::cni
