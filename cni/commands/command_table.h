#pragma once

#include <chrono>
#include <string>

#include "cni/commands/call.h"

namespace kuryr::cni {

/// Serves one request on this node, in a plugin that works alone and in the agent alike. Returns
/// the text for stdout, which may be empty.
using ServeCommand = std::string (*)(const Call& call);
/// The function that serves the command: Add, Del, Check, Gc, Status, or one for VERSION.
[[nodiscard]] ServeCommand FindCommand(Command command);

/// The longest time for a request: after it, runtimes give up.
[[nodiscard]] std::chrono::seconds LongestFor(Command command, const Config& config);

}  // namespace kuryr::cni
