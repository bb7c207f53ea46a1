#pragma once

#include <string>

#include "cni/commands/call.h"

namespace kuryr::cni {

/// Serves an ADD: locks the attachment, clears what a killed ADD left, and plugs the pod's VIFs.
/// The VIFs come with the pod's events; for a standalone network Add makes them. Returns the
/// result, in a chain behind prevResult. All or nothing: when it throws, it has left no link, port
/// or record. Where something could not be removed, the record stays, and the runtime's DEL removes
/// the rest. A PodReporter tells the API server how the ADD goes.
[[nodiscard]] std::string Add(const Call& call);

}  // namespace kuryr::cni
