#pragma once

#include <functional>
#include <string>
#include <vector>

#include "service/common_options.h"
#include "service/report.h"

namespace kuryr::cni {

// These ask the agent at `socket` (StatusSocketOf), and throw std::runtime_error when none answers.

/// `kuryr-daemon status`: writes to stdout what the agent says of its pods, or of `wanted`'s pod
/// and its path to the bridge. The exit status: 1 when anything of it is not as it should be.
[[nodiscard]] int PrintStatus(const std::string& socket, const service::StatusOptions& wanted);

/// `kuryr-daemon health`: writes to stdout whether the agent is `wanted` ("alive" or "ready"):
/// "ok", or why not. The exit status: 0 or 1.
[[nodiscard]] int PrintHealth(const std::string& socket, const std::string& wanted);

/// `kuryr-daemon policy`: writes to stdout what the node has of the policies of a pod. The exit
/// status: 1 when that is not in effect, or no such pod is there.
[[nodiscard]] int PrintPolicies(const std::string& socket, const service::StatusOptions& asked);

/// The parts of `kuryr-daemon report` that the agent answers. `find_socket` finds its socket.
[[nodiscard]] std::vector<service::ReportPart> AgentParts(
    const std::function<std::string()>& find_socket);

}  // namespace kuryr::cni
