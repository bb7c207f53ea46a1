#pragma once

#include <string>

namespace kuryr::cni {

/// The path of a container's network namespace, for callers that name only the container. It is
/// that of the process that the Docker Engine calls its first. Where Docker is missing, or does not
/// know the container, it is that of the oldest process in a control group named after it. Throws
/// CniError 4 for what is no container ID, 3 when nothing of it runs, 11 when Docker cannot tell.
[[nodiscard]] std::string FindSandbox(const std::string& container_id);

}  // namespace kuryr::cni
