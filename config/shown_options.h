#pragma once

#include <string>
#include <vector>

#include "config/config_file.h"

namespace kuryr {

/// What a stranger may see of the files: "FILE: [section] option = value" for each option, as
/// written there. "(not shown)" stands for passwords, tokens and secrets, and for every option that
/// no program reads. User names and passwords in URLs are left out.
[[nodiscard]] std::vector<std::string> ShownOptions(const ConfigFiles& files);

/// The text without what stands before an "@" in its URLs. A password may have any character but
/// blanks and quotation marks.
[[nodiscard]] std::string WithoutUsers(std::string text);

}  // namespace kuryr
