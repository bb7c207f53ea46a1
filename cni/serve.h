#pragma once

#include <chrono>
#include <string>

#include "cni/call.h"

namespace kuryr::cni {

/// Serves one request on this node; returns what goes to stdout, which may be nothing. Throws what
/// the commands throw. The same in a plugin that works alone and in the agent.
[[nodiscard]] std::string Serve(const Call& call);

/// How long the request may take at most: runtimes give up on it.
[[nodiscard]] std::chrono::seconds LongestFor(Command command, const Config& config);

}  // namespace kuryr::cni
