#pragma once

#include <string>
#include <variant>

#include "cni/config.h"
#include "cni/protocol/agent_call.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// The agent has not served the request: this process serves it alone.
struct NoAgent {
  enum class State {
    kNone,    ///< no agent is to be asked, or it does not serve such requests
    kDown,    ///< no process listens at its socket
    kSilent,  ///< it did not answer, or not in time
  };

  State state = State::kNone;
  std::string why;  ///< unless kNone
};

/// Has the node's agent serve the request. An ADD needs pods' events, which only the agent has. So
/// it waits for an agent that is down: [cni_daemon] agent_wait for each outage. Then it throws
/// CniError 11. A STATUS waits for nobody: it throws CniError 50 when the agent has not answered
/// for longer than that. Returns NoAgent for requests that need no events: a DEL must not wait.
/// Gives up when `cancel_fd` becomes readable.
[[nodiscard]] std::variant<AgentReply, NoAgent> AskAgent(const Request& request,
                                                         const Config& config,
                                                         const std::string& trace_id,
                                                         int cancel_fd);

}  // namespace kuryr::cni
