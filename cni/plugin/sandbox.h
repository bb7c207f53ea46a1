#pragma once

#include <string>

namespace kuryr::cni {

/// The path of a container's network namespace, for callers that name the container and nothing
/// else: that of the process which the Docker Engine calls its first, or, for a container that
/// Docker does not know or where there is no Docker, of the oldest process in a control group named
/// after it. Throws CniError 4 for what is no container ID, 3 when nothing of it runs, 11 when
/// Docker cannot tell.
[[nodiscard]] std::string FindSandbox(const std::string& container_id);

}  // namespace kuryr::cni
