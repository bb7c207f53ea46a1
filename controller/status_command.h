#pragma once

#include <string>

#include "controller/config.h"

namespace kuryr::controller {

enum class StatusForm { kText, kJson };

/// `kuryr-controller status`: asks the API server, and writes to stdout how it stands with the
/// plans of all pods, or with `pod` (NAMESPACE/NAME; empty: all). The exit status: 1 when anything
/// of it is not as it should be. Throws what ApiClient does, and std::runtime_error for what names
/// no pod.
[[nodiscard]] int PrintStatus(const Config& config, const std::string& pod, StatusForm form);

}  // namespace kuryr::controller
