#pragma once

#include <string>

namespace kuryr::cni {

enum class StatusForm { kText, kJson };

/// `kuryr-daemon status`: asks the agent at `socket` and writes to stdout what it says of its pods,
/// or of `pod` (NAMESPACE/NAME; empty: all) and its path to the bridge. The exit status: 1 when
/// anything of it is not as it should be. Throws std::system_error when no agent answers.
[[nodiscard]] int PrintStatus(const std::string& socket, const std::string& pod, StatusForm form);

}  // namespace kuryr::cni
