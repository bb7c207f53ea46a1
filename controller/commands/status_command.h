#pragma once

#include <nlohmann/json_fwd.hpp>

#include "controller/config.h"
#include "service/common_options.h"

namespace kuryr::controller {

/// `kuryr-controller status`: asks the API server, and writes the states of all pods' plans, or of
/// the plan of `wanted`, to stdout. The exit status is 1 if one is not as it should be. Throws what
/// ApiClient does, and std::runtime_error for a text that names no pod.
[[nodiscard]] int PrintStatus(const Config& config, const service::StatusOptions& wanted);

/// The same of all pods, for `kuryr-controller report`.
[[nodiscard]] nlohmann::json StatusOf(const Config& config);

}  // namespace kuryr::controller
