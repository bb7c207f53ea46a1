#pragma once

#include <string>
#include <vector>

#include "config/config_file.h"

namespace kuryr {

/// What a stranger may see of the files: "FILE: [section] option = value" for each option, as
/// written there. "(not shown)" stands for passwords, tokens and secrets, and for every option that
/// no program reads. User names and passwords in URLs are left out.
[[nodiscard]] std::vector<std::string> ShownOptions(const ConfigFiles& files);

}  // namespace kuryr
