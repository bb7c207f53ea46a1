#pragma once

#include <chrono>
#include <string>

#include "cni/protocol/agent_call.h"

namespace kuryr::cni {

/// Asks the agent about itself: `socket` is StatusSocketOf its own, `query` AgentCall::query.
/// Throws std::runtime_error when none answers within `time`.
[[nodiscard]] AgentReply QueryAgent(const std::string& socket, const std::string& query,
                                    const std::string& input, std::chrono::seconds time);

/// Whether the agent's process stands still, stopped or stuck: it says nothing until the deadline
/// to a question that waits for no call. False where it listens to none.
[[nodiscard]] bool IsStuck(const std::string& socket, const Deadline& deadline);

}  // namespace kuryr::cni
