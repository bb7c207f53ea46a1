#pragma once

#include <string>

#include "base/config_file.h"
#include "controller/local/pool.h"

namespace kuryr::controller::local {

/// What one section, "pool:NAME", says by itself. Throws ConfigError.
[[nodiscard]] Pool ReadPoolSection(const ConfigFiles& files, const std::string& section);

}  // namespace kuryr::controller::local
