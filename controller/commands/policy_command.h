#pragma once

#include <string>

#include "controller/config.h"
#include "service/command_line.h"

namespace kuryr::controller {

/// The arguments of command "policy".
struct PolicyQuestion {
  std::string pod;   ///< NAMESPACE/NAME
  std::string peer;  ///< NAMESPACE/NAME of the pod that it would reach; empty: none is asked for
  std::string port;  ///< of the peer: "tcp/80", "udp/53" or "sctp/9"
  bool as_json = false;
};

/// Adds command "policy"; ProgramLine::Parse fills `question`.
service::CommandLine AddPolicyCommand(service::CommandLine& line, PolicyQuestion& question);

/// `kuryr-controller policy`: lists the API server's NetworkPolicies, namespaces and pods once, and
/// writes to stdout which policies select a pod, or whether they let it reach another one. The exit
/// status is 1 if they do not, or if a policy of the pod or another object cannot be read. Throws
/// what ApiClient does, and std::runtime_error for arguments that name no pod or no port.
[[nodiscard]] int PrintPolicies(const Config& config, const PolicyQuestion& question);

}  // namespace kuryr::controller
