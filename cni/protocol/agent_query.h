#pragma once

#include <chrono>
#include <string>

#include "cni/protocol/agent_call.h"

namespace kuryr::cni {

/// Asks the agent about itself. `socket` is the agent's status socket (StatusSocketOf), and `query`
/// is as in AgentCall. Throws std::runtime_error when no agent answers within `time`.
[[nodiscard]] AgentReply QueryAgent(const std::string& socket, const std::string& query,
                                    const std::string& input, std::chrono::seconds time);

/// Whether the agent's process is stopped or stuck: it does not answer before the deadline,
/// although the question waits for no call. False when no process listens at `socket`.
[[nodiscard]] bool IsStuck(const std::string& socket, const Deadline& deadline);

}  // namespace kuryr::cni
