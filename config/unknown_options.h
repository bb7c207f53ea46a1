#pragma once

#include <string>
#include <vector>

#include "config/config_file.h"

namespace kuryr {

/// Finds sections and options that no program reads, and that look like mistakes: each with its
/// place and the name that may have been meant. In the sections that kuryr-kubernetes has, too, an
/// option counts only where it is nearly one of ours, since its own options may stay there. Options
/// of [pool:NAME] are refused where they are read.
[[nodiscard]] std::vector<std::string> FindUnknownOptions(const ConfigFiles& files);
/// Whether a program reads the option. `section` and `option` are in lower case; of [pool:NAME]
/// every option counts.
[[nodiscard]] bool IsKnownOption(const std::string& section, const std::string& option);

}  // namespace kuryr
