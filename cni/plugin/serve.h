#pragma once

#include <string>
#include <vector>

#include "cni/protocol/agent_call.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Serves the request by the node's agent, or by this process alone. `config_files` are kuryr.conf,
/// read before the file that the network configuration names; empty: the default one. The request
/// gives up when `cancel_fd` becomes readable. Throws what the commands throw.
[[nodiscard]] AgentReply Serve(Request request, std::vector<std::string> config_files,
                               int cancel_fd);

}  // namespace kuryr::cni
