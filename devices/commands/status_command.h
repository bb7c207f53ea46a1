#pragma once

#include "devices/config.h"
#include "service/common_options.h"

namespace kuryr::devices {

/// Prints what the node's devices are, and who has them, as config.json, sysfs and the kubelet
/// tell. Returns 1 when a resource is not served or not all could be asked. Throws when there is
/// nothing to print.
int PrintStatus(const Config& config, const service::StatusOptions& wanted);

}  // namespace kuryr::devices
