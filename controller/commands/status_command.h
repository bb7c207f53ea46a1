#pragma once

#include "controller/config.h"
#include "service/common_options.h"

namespace kuryr::controller {

/// `kuryr-controller status`: asks the API server, and writes to stdout how it stands with the
/// plans of all pods, or with `wanted`'s. The exit status: 1 when anything of it is not as it
/// should be. Throws what ApiClient does, and std::runtime_error for what names no pod.
[[nodiscard]] int PrintStatus(const Config& config, const service::StatusOptions& wanted);

}  // namespace kuryr::controller
