#include "cni/protocol/agent_query.h"

#include <stdexcept>
#include <system_error>

#include "cni/protocol/agent_socket.h"

namespace kuryr::cni {

AgentReply QueryAgent(const std::string& socket, const std::string& query, const std::string& input,
                      std::chrono::seconds time) {
  const Deadline deadline = Deadline::After(time);
  AgentCall call;
  call.query = query;
  call.input = input;
  try {
    const UniqueFd agent = ConnectTo(socket, deadline);
    SendCall(agent.get(), call, deadline);
    return ReceiveReply(agent.get(), deadline);
  } catch (const std::system_error& e) {
    throw std::runtime_error("no agent answers at " + socket + ": " + e.code().message());
  }
}

bool IsStuck(const std::string& socket, const Deadline& deadline) {
  AgentCall call;
  call.query = "alive";
  try {
    const UniqueFd agent = ConnectTo(socket, deadline);
    SendCall(agent.get(), call, deadline);
    return !AwaitReply(agent.get(), deadline);
  } catch (const std::system_error& e) {
    return e.code() == std::errc::timed_out;
  }
}

}  // namespace kuryr::cni
