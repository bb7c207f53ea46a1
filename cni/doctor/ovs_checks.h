#pragma once

#include "base/deadline.h"
#include "cni/config.h"
#include "cni/doctor/finding.h"

namespace kuryr::cni::doctor {

/// Open vSwitch and the bridge of [neutron_defaults] ovs_bridge. Also whether tunnels carry packets
/// as large as the MTU of the VIFs that this node has plugged.
[[nodiscard]] Findings CheckOvs(const Config& config, const Deadline& deadline);

}  // namespace kuryr::cni::doctor
