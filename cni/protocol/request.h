#pragma once

#include <string>
#include <string_view>

#include "cni/protocol/args.h"
#include "cni/protocol/environment.h"
#include "cni/protocol/network_config.h"
#include "cni/protocol/wishes.h"

namespace kuryr::cni {

/// One call of the plugin, checked (CNI SPEC section 2 "Parameters", section 1 "Configuration").
struct Request {
  Command command = Command::kVersion;
  NetworkConfig config;  ///< of VERSION only cni_version, which may be one we do not support
  std::string container_id;
  std::string netns;  ///< path, as the runtime has it; may be empty for DEL
  int netns_fd = -1;  ///< where the path means nothing: the namespace itself, borrowed
  std::string ifname;
  bool netns_override = false;  ///< CNI_NETNS may be the plugin's own
  std::string args;             ///< CNI_ARGS, for the delegate
  std::string path;             ///< CNI_PATH, to find it
  PodArgs pod;                  ///< of an ADD; of a DEL as far as it is well named; otherwise empty
  Wishes wishes;
  std::string trace_id;  ///< of the call to the agent: again its own, where another agent gets it

  /// Where this process can open the namespace.
  [[nodiscard]] std::string netns_path() const {
    return netns_fd < 0 ? netns : "/proc/self/fd/" + std::to_string(netns_fd);
  }
};

/// Throws CniError 4 that names every missing and invalid variable at once, 6 for what is no JSON
/// object, and 7 for a malformed field. It is 1 for a cniVersion that is not supported, or that
/// does not have the command. VERSION is answered whatever the rest looks like.
[[nodiscard]] Request ParseRequest(const Environment& environment, std::string_view input);

/// The version an error is to be answered in: the input's cniVersion where it can be told, else the
/// newest.
[[nodiscard]] std::string AnswerVersion(std::string_view input);

/// {"cniVersion", "supportedVersions"}.
[[nodiscard]] std::string VersionJson(const std::string& cni_version);

}  // namespace kuryr::cni
