#pragma once

#include <chrono>
#include <string>

#include "base/deadline.h"
#include "cni/config.h"
#include "cni/node.h"
#include "cni/pod_event_source.h"
#include "cni/protocol/request.h"
#include "cni/stage_observer.h"

namespace kuryr::cni {

/// Serves one request on this node; returns what goes to stdout, which may be nothing. Throws what
/// the commands throw. The same in a plugin that works alone and in the agent.
[[nodiscard]] std::string Serve(const Request& request, const Node& node, const Config& config,
                                PodEventSource& events, StageObserver& stages,
                                const Deadline& deadline);

/// How long the request may take at most: runtimes give up on it.
[[nodiscard]] std::chrono::seconds LongestFor(Command command, const Config& config);

}  // namespace kuryr::cni
