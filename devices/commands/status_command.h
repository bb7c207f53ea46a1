#pragma once

#include <nlohmann/json_fwd.hpp>

#include "devices/config.h"
#include "service/common_options.h"

namespace kuryr::devices {

/// Prints the node's devices and the pods that have them, from config.json, sysfs and the kubelet.
/// Returns 1 if a resource is not served or a source does not answer. Throws if there is nothing to
/// print.
int PrintStatus(const Config& config, const service::StatusOptions& wanted);

/// The same, for `kuryr-devices report`.
[[nodiscard]] nlohmann::json StatusOf(const Config& config);

}  // namespace kuryr::devices
