#pragma once

#include "base/deadline.h"
#include "cni/config.h"
#include "cni/doctor/finding.h"

namespace kuryr::cni::doctor {

/// Checks Open vSwitch and the bridge of [neutron_defaults] ovs_bridge. Also checks whether tunnels
/// carry packets as large as the MTU of this node's plugged VIFs.
[[nodiscard]] Findings CheckOvs(const Config& config, const Deadline& deadline);

}  // namespace kuryr::cni::doctor
