#pragma once

#include <string>

#include "base/deadline.h"
#include "base/unique_fd.h"

namespace kuryr::cni {

/// Makes a listening socket at `path`, for root alone: a missing folder gets mode 0700, the socket
/// 0600. The socket takes its name by rename once it listens, so every process that sees it can
/// connect. It replaces a socket on which no process listens. Throws std::system_error, EADDRINUSE
/// when a process listens there.
[[nodiscard]] UniqueFd ListenAt(const std::string& path);

/// The socket for questions to the agent that listens at `path` (AgentCall::query), which do not
/// wait for calls. For "agent.sock" it is "agent-status.sock".
[[nodiscard]] std::string StatusSocketOf(const std::string& path);

/// The listening socket that systemd has passed to this process (sd_listen_fds(3)); unset without
/// one. Throws std::runtime_error when systemd has passed something else.
[[nodiscard]] UniqueFd InheritedListener();

/// Connects to the socket at `path`. Throws std::system_error: ENOENT for a missing socket,
/// ECONNREFUSED when no process listens, ETIMEDOUT when the queue stays full. The deadline's
/// cancel_fd does not interrupt it.
[[nodiscard]] UniqueFd ConnectTo(const std::string& path, const Deadline& deadline);

}  // namespace kuryr::cni
