#pragma once

#include <optional>
#include <string>

#include "base/deadline.h"
#include "cni/config.h"
#include "cni/protocol/agent_call.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Has the node's agent serve the request. nullopt where this process is to do it alone: there is
/// no agent, or it is down and the request needs nothing that only the agent has (a DEL must not
/// wait for it). Throws CniError 11, for STATUS 50, when the agent is down.
[[nodiscard]] std::optional<AgentReply> AskAgent(const Request& request, const Config& config,
                                                 const std::string& trace_id,
                                                 const Deadline& deadline);

}  // namespace kuryr::cni
