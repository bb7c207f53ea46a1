#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <system_error>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "cni/protocol/environment.h"

namespace kuryr::cni {

/// One call of the plugin, as it is handed to the node's agent over a unix stream socket. It has
/// what the runtime gave, and the pod's namespace as an open descriptor (SCM_RIGHTS): a path may
/// mean something else to the agent.
struct AgentCall {
  Environment environment;
  std::string input;  ///< stdin
  UniqueFd netns;     ///< unset when there is none
  /// One came, and this process had no descriptor left to take it.
  bool netns_lost = false;
  /// Ends the lines that either side logs of the call (IsTraceId). To one that comes without, as
  /// from an older plugin, ReceiveCall gives one.
  std::string trace_id;
  /// In place of a call, a question to the agent itself, at its other socket (StatusSocketOf):
  /// "alive", "ready" or "status". `input` is then a pod (NAMESPACE/NAME) or empty. Empty for a
  /// call of the plugin.
  std::string query;
};

/// What the plugin is to end with.
struct AgentReply {
  int status = 0;   ///< exit status
  std::string out;  ///< for stdout
};

// On the wire: four bytes, the length of what follows in network order, and one JSON object. The
// descriptor comes with the first byte. A message has at most kMostMessage bytes. All functions
// throw std::system_error when the other side is gone or the deadline is over, and ParseError for
// what is no message.

/// Whether the other side has ended, or does not want us.
[[nodiscard]] bool IsPeerGone(const std::system_error& error);

inline constexpr size_t kMostMessage = size_t{4} << 20;

void SendCall(int socket, const AgentCall& call, const Deadline& deadline);
/// `admit` is asked, with the message's bytes, before there is room for it. What it throws comes
/// when the message is read and forgotten: who is not heard to the end hears no answer.
[[nodiscard]] AgentCall ReceiveCall(int socket, const Deadline& deadline,
                                    const std::function<void(size_t bytes)>& admit);
void SendReply(int socket, const AgentReply& reply, const Deadline& deadline);
/// False when the deadline is over before any of the answer has come.
[[nodiscard]] bool AwaitReply(int socket, const Deadline& deadline);
[[nodiscard]] AgentReply ReceiveReply(int socket, const Deadline& deadline);

}  // namespace kuryr::cni
