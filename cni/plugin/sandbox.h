#pragma once

#include <string>

namespace kuryr::cni {

/// The path of a container's network namespace, for callers that know only the container's ID. The
/// Docker Engine tells the container's first process. Without Docker, or for a container unknown to
/// it, the oldest process in a control group named after the container is taken. Throws CniError 4
/// for a malformed ID, 3 when no process of it runs, 11 when Docker cannot tell.
[[nodiscard]] std::string FindSandbox(const std::string& container_id);

}  // namespace kuryr::cni
