#pragma once

#include <string>

#include "controller/config.h"
#include "service/command_line.h"

namespace kuryr::controller {

/// The arguments of command "trace".
struct TraceQuestion {
  std::string from;  ///< NAMESPACE/NAME
  std::string to;    ///< NAMESPACE/NAME
  std::string port;  ///< of `to`: "tcp/80", "udp/53" or "sctp/9"; empty: an ICMP packet
  bool as_json = false;
};

/// Adds command "trace"; ProgramLine::Parse fills `question`.
service::CommandLine AddTraceCommand(service::CommandLine& line, TraceQuestion& question);

/// `kuryr-controller trace`: writes to stdout in one line whether the backend's network takes a
/// packet from one pod's default interface to the other one's, and where it ends. The exit status
/// is 1 if it does not arrive. Throws what ApiClient does, and std::runtime_error for arguments
/// that name no pod or no port, for a pod without a plan, and for a backend that traces no packets.
[[nodiscard]] int PrintTrace(const Config& config, const TraceQuestion& question);

}  // namespace kuryr::controller
