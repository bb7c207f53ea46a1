#pragma once

#include <string>
#include <variant>

#include "cni/config.h"
#include "cni/protocol/agent_call.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// The agent has not served the request: this process is to do it alone.
struct NoAgent {
  enum class State {
    kNone,    ///< there is none, or the request is none of its requests
    kDown,    ///< nobody listens at its socket
    kSilent,  ///< it has not answered, or not in time
  };

  State state = State::kNone;
  std::string why;  ///< unless kNone
};

/// Has the node's agent serve the request. An ADD, which needs what only the agent has, waits for
/// one that is down, as long as [cni_daemon] agent_wait says of each outage. Gives up when
/// `cancel_fd` becomes readable. NoAgent for what needs nothing that only the agent has: a DEL must
/// not wait for it. Throws CniError 11, for STATUS 50, for what does.
[[nodiscard]] std::variant<AgentReply, NoAgent> AskAgent(const Request& request,
                                                         const Config& config,
                                                         const std::string& trace_id,
                                                         int cancel_fd);

}  // namespace kuryr::cni
