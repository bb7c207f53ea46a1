#pragma once

#include <optional>
#include <string>

#include "cni/commands/call.h"

namespace kuryr::cni {

/// The bridge of Open vSwitch for pods whose VIFs come from a producer; nullopt on a node that
/// needs none.
[[nodiscard]] std::optional<std::string> OvsBridgeOf(const Config& config);

/// Serves a STATUS: returns when an ADD could be served now. Throws CniError 50 that says what is
/// missing: the API server (for VIFs from annotations), Open vSwitch or its bridge. It is 51 when
/// attachments of this network are on a bridge that is down. The delegate's error is passed on. The
/// answer is empty.
std::string Status(const Call& call);

}  // namespace kuryr::cni
