#pragma once

#include <string>

#include "cni/call.h"

namespace kuryr::cni {

/// Serves an ADD: locks the attachment, clears what a killed ADD left, gets the pod's VIFs (from
/// its events, or makes them itself for a local network) and plugs them. The answer is the result,
/// in a chain behind prevResult. All or nothing: whatever it throws, no link, port or record of it
/// is left, or where one could not be removed, the record that lets the runtime's DEL do so. The
/// API server is told by a PodReporter how it gets on.
[[nodiscard]] std::string Add(const Call& call);

}  // namespace kuryr::cni
