#pragma once

#include <string>

#include "cni/commands/call.h"

namespace kuryr::cni {

/// Serves an ADD: locks the attachment, clears what a killed ADD left, and plugs the pod's VIFs.
/// They come by the pod's events; for a local network it makes them itself. The answer is the
/// result, in a chain behind prevResult. All or nothing: when it throws, it has left no link, port
/// or record. Where something could not be removed, the record stays, and the runtime's DEL removes
/// the rest. The API server is told by a PodReporter how it gets on.
[[nodiscard]] std::string Add(const Call& call);

}  // namespace kuryr::cni
