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
  NetworkConfig config;  ///< for VERSION only cni_version, maybe an unsupported one
  std::string container_id;
  std::string netns;  ///< path, as the runtime has it; may be empty for DEL
  int netns_fd = -1;  ///< open namespace, borrowed, where the path cannot be used; else -1
  std::string ifname;
  bool netns_override = false;  ///< CNI_NETNS may be the plugin's own
  std::string args;             ///< CNI_ARGS, for the delegate
  std::string path;             ///< CNI_PATH, where the delegate is found
  PodArgs pod;                  ///< for an ADD; for a DEL when its names are valid; else empty
  Wishes wishes;
  std::string trace_id;  ///< of the call to the agent; the same when another agent gets the call

  /// The path by which this process can open the namespace.
  [[nodiscard]] std::string netns_path() const {
    return netns_fd < 0 ? netns : "/proc/self/fd/" + std::to_string(netns_fd);
  }
};

/// Throws CniError 4 that names every missing and invalid variable at once, 6 when `input` is no
/// JSON object, and 7 for a malformed field. Throws CniError 1 for a cniVersion that is not
/// supported, or that does not have the command. For VERSION, nothing else needs to be valid.
[[nodiscard]] Request ParseRequest(const Environment& environment, std::string_view input);

/// The version for an error's answer: the cniVersion in `input` where it can be read, else the
/// newest.
[[nodiscard]] std::string AnswerVersion(std::string_view input);

/// {"cniVersion", "supportedVersions"}.
[[nodiscard]] std::string VersionJson(const std::string& cni_version);

}  // namespace kuryr::cni
