#pragma once

#include <map>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/resource.h"

namespace kuryr::devices {

/// The resource ("intel.com/sriov_net") of each device, by the device's id.
using Owners = std::map<std::string, std::string>;

/// Each device's resource: the resource that holds it, or else the first that matches. A device
/// held by a resource outside of the list gets none, because it may be in a pod. `held` may name
/// missing devices.
[[nodiscard]] Owners FindOwners(const std::vector<Resource>& resources,
                                const std::vector<Device>& devices, const Owners& held);

}  // namespace kuryr::devices
