#pragma once

#include "base/deadline.h"
#include "binding/driver_context.h"
#include "binding/ovs/open_vswitch.h"

namespace kuryr::binding {

/// The external_ids by which the node's agent knows its own port, under whichever name.
[[nodiscard]] const ExternalIds& ManagementPortMark();

/// Removes all ports of Open vSwitch that have the mark, and returns when ovs-vswitchd has removed
/// their links. False when there was none. Throws what OpenVSwitch does.
bool RemoveManagementPorts(const DriverContext& context, const Deadline& deadline);

}  // namespace kuryr::binding
