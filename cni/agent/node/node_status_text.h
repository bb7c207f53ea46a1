#pragma once

#include <nlohmann/json_fwd.hpp>

namespace kuryr::cni {

/// Writes to stdout what `kuryr-daemon status` says of the node's own network: NodeNetwork's
/// Describe, or null. True when all is well.
bool PrintNodeNetwork(const nlohmann::json& described);

}  // namespace kuryr::cni
