#pragma once

#include <string>

#include "config/config_file.h"
#include "controller/backends/pools/pool.h"

namespace kuryr::controller::pools {

/// Reads one section "pool:NAME" without regard to the others. Throws ConfigError.
[[nodiscard]] Pool ReadPoolSection(const ConfigFiles& files, const std::string& section);

}  // namespace kuryr::controller::pools
