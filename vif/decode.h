#pragma once

#include <nlohmann/json_fwd.hpp>

#include "vif/path.h"
#include "vif/vif.h"

// The decoder as the rest of this folder uses it: into a value, below a path.

namespace kuryr::vif {

void DecodeInto(const nlohmann::json& primitive, const Path& path, Vif& vif);
void DecodeInto(const nlohmann::json& primitive, const Path& path, PodState& state);

}  // namespace kuryr::vif
