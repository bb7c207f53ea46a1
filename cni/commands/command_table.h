#pragma once

#include <chrono>
#include <string>

#include "cni/commands/call.h"

namespace kuryr::cni {

/// Serves one request on this node, in a plugin that works alone and in the agent alike. Returns
/// what goes to stdout, which may be nothing.
using ServeCommand = std::string (*)(const Call& call);
/// What serves the command: Add, Del, Check, Gc, Status, or VERSION's answer.
[[nodiscard]] ServeCommand FindCommand(Command command);

/// How long the request may take at most: runtimes give up on it.
[[nodiscard]] std::chrono::seconds LongestFor(Command command, const Config& config);

}  // namespace kuryr::cni
