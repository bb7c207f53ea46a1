#pragma once

#include <string>
#include <vector>

#include "cni/doctor/finding.h"
#include "cni/doctor/runtime_checks.h"

namespace kuryr::cni::doctor {

/// All that a pod's ADD needs on this node, looked at in one go. It changes nothing, and takes at
/// most half a minute.
[[nodiscard]] Findings Examine(const std::vector<std::string>& config_files,
                               const RuntimeFolders& folders);

/// A line each with a mark, and the mend below.
[[nodiscard]] std::string ToText(const Findings& findings);
/// {"findings": [{"subject", "verdict": "good", "bad" or "unknown", "found", "mend"}]}
[[nodiscard]] std::string ToJson(const Findings& findings);

[[nodiscard]] bool IsHealthy(const Findings& findings);

}  // namespace kuryr::cni::doctor
