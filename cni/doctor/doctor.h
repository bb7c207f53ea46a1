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

/// A line with a mark for each finding, and below it the remedy. The last line counts the faults,
/// and says which to fix first. With `is_coloured` the marks are green, red and yellow.
[[nodiscard]] std::string ToText(const Findings& findings, bool is_coloured);
/// {"checks": [{"check", "status": "ok", "failed" or "unknown", "message", "remedy"}], "failed",
/// "unknown", "summary"}: both are numbers of checks; the summary is the text's last line.
[[nodiscard]] std::string ToJson(const Findings& findings);

[[nodiscard]] bool IsHealthy(const Findings& findings);

}  // namespace kuryr::cni::doctor
