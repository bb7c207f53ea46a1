#pragma once

#include <string>

#include "base/deadline.h"
#include "base/unique_fd.h"

namespace kuryr::cni {

/// A listening socket at `path`, for root alone: the folder is made 0700 where it is missing, the
/// socket is 0600. It comes there by rename, listening: whoever sees it can connect. One that is
/// there and that nobody listens on is replaced. Throws std::system_error, EADDRINUSE when somebody
/// does.
[[nodiscard]] UniqueFd ListenAt(const std::string& path);

/// Where the agent that listens at `path` answers questions about itself (AgentCall::query), which
/// do not wait for calls: "agent-status.sock" of "agent.sock".
[[nodiscard]] std::string StatusSocketOf(const std::string& path);

/// The socket that systemd listens on for us (sd_listen_fds(3)); unset without one. Throws
/// std::runtime_error where that is something else.
[[nodiscard]] UniqueFd InheritedListener();

/// Connects to it. Throws std::system_error: ENOENT for a missing socket, ECONNREFUSED for one
/// without a listener, ETIMEDOUT for one whose queue stays full. The deadline's cancel_fd does not
/// end it.
[[nodiscard]] UniqueFd ConnectTo(const std::string& path, const Deadline& deadline);

}  // namespace kuryr::cni
