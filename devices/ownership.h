#pragma once

#include <map>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/resource.h"

namespace kuryr::devices {

/// Of which resource ("intel.com/sriov_net") a device is, by the device's id.
using Owners = std::map<std::string, std::string>;

/// Each device's resource: the one that holds it, and otherwise the first that matches. A device
/// that is held by a resource that is not in the list has none: it may be in a pod. `held` may name
/// devices that are not there.
[[nodiscard]] Owners FindOwners(const std::vector<Resource>& resources,
                                const std::vector<Device>& devices, const Owners& held);

}  // namespace kuryr::devices
