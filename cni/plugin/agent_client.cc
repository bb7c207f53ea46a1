#include "cni/plugin/agent_client.h"

#include <fcntl.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "cni/protocol/agent_socket.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

AgentCall CallFor(const Request& request, const std::string& trace_id) {
  AgentCall call;
  call.trace_id = trace_id;
  call.environment = {.command = ToString(request.command),
                      .container_id = request.container_id,
                      .netns = request.netns,
                      .ifname = request.ifname,
                      .args = request.args,
                      .path = request.path,
                      .netns_override = request.netns_override ? "1" : ""};
  call.input = request.config.json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // What is wrong with the path is the agent's to say.
  if (!request.netns.empty())
    call.netns.reset(::open(request.netns.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return call;
}

/// Only what needs the pods' events cannot be done without the agent.
std::optional<AgentReply> WithoutAgent(const Request& request, const Config& config,
                                       const std::string& why) {
  if (request.command == Command::kAdd || request.command == Command::kStatus) {
    const bool status = request.command == Command::kStatus;
    throw CniError(status ? ErrorCode::kNotAvailable : ErrorCode::kTryAgainLater,
                   "kuryr-daemon does not answer at " + config.agent_socket, why);
  }
  Log(LogLevel::kWarning, "kuryr-daemon does not answer: served without it",
      {{"socket", config.agent_socket}, {"error", why}});
  return std::nullopt;
}

}  // namespace

std::optional<AgentReply> AskAgent(const Request& request, const Config& config,
                                   const std::string& trace_id, const Deadline& deadline) {
  // Delegated plugins need the runtime's environment.
  const bool own_work = request.config.local || !request.config.ipam.empty();
  if (config.use_agent == UseAgent::kNever || own_work) return std::nullopt;
  try {
    const UniqueFd socket = ConnectTo(config.agent_socket);
    SendCall(socket.get(), CallFor(request, trace_id), deadline);
    return ReceiveReply(socket.get(), deadline);
  } catch (const std::system_error& e) {
    const bool absent = e.code() == std::errc::no_such_file_or_directory;
    if (absent && config.use_agent == UseAgent::kAuto) return std::nullopt;
    return WithoutAgent(request, config, e.what());
  } catch (const ParseError& e) {
    return WithoutAgent(request, config, e.what());
  }
}

}  // namespace kuryr::cni
