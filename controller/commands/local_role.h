#pragma once

#include <string>

#include "controller/config.h"

namespace kuryr::controller {

/// What the controller at this machine's health port does: "leads", "standby, warm" or "standby,
/// not warm yet"; empty where none answers.
[[nodiscard]] std::string LocalRole(const Config& config);

}  // namespace kuryr::controller
