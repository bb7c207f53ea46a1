#pragma once

#include <string>
#include <vector>

#include "cni/doctor/finding.h"
#include "cni/doctor/runtime_checks.h"

namespace kuryr::cni::doctor {

/// Checks all that a pod's ADD needs on this node. Changes nothing, and takes at most half a
/// minute.
[[nodiscard]] Findings Examine(const std::vector<std::string>& config_files,
                               const RuntimeFolders& folders);

/// A line with a mark for each finding, and below it the mend.
[[nodiscard]] std::string ToText(const Findings& findings);
/// {"findings": [{"subject", "verdict": "good", "bad" or "unknown", "found", "mend"}]}
[[nodiscard]] std::string ToJson(const Findings& findings);

[[nodiscard]] bool IsHealthy(const Findings& findings);

}  // namespace kuryr::cni::doctor
