#pragma once

#include <string>

#include "controller/config.h"

namespace kuryr::controller {

/// The role of the controller at this machine's health port: "leads", "standby, warm" or "standby,
/// not warm yet"; empty if none answers.
[[nodiscard]] std::string LocalRole(const Config& config);

}  // namespace kuryr::controller
