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
  /// A namespace was sent, but this process had no free descriptor number to receive it.
  bool netns_lost = false;
  /// Both sides end their log lines about the call with it (IsTraceId). ReceiveCall makes one when
  /// an older plugin sends none.
  std::string trace_id;
  /// A question to the agent itself, at its other socket (StatusSocketOf): "alive", "ready",
  /// "status", "metrics" or "policy". `input` is then a pod (NAMESPACE/NAME) or empty. `query` is
  /// empty for a call of the plugin.
  std::string query;
};

/// The plugin's exit status and output.
struct AgentReply {
  int status = 0;   ///< exit status
  std::string out;  ///< for stdout
};

// On the wire: four bytes, the length of what follows in network order, and one JSON object. The
// descriptor comes with the first byte. A message has at most kMostMessage bytes. All functions
// throw std::system_error when the other side is gone or the deadline is over, and ParseError for a
// malformed message.

/// Whether the error says that the other side has ended or closed the connection.
[[nodiscard]] bool IsPeerGone(const std::system_error& error);

inline constexpr size_t kMostMessage = size_t{4} << 20;

void SendCall(int socket, const AgentCall& call, const Deadline& deadline);
/// Calls `admit` with the message's size before it allocates memory for the message. When `admit`
/// throws, it reads and discards the message, and rethrows: a peer reads no answer before it has
/// sent everything.
[[nodiscard]] AgentCall ReceiveCall(int socket, const Deadline& deadline,
                                    const std::function<void(size_t bytes)>& admit);
void SendReply(int socket, const AgentReply& reply, const Deadline& deadline);
/// False when the deadline passes before the first byte of the reply has come.
[[nodiscard]] bool AwaitReply(int socket, const Deadline& deadline);
[[nodiscard]] AgentReply ReceiveReply(int socket, const Deadline& deadline);

}  // namespace kuryr::cni
