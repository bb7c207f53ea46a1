#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cni/protocol/version.h"

namespace kuryr::cni {

enum class Command { kAdd, kDel, kVersion };

/// The CNI_* variables as the runtime set them; std::nullopt is unset.
struct Environment {
  std::optional<std::string> command;
  std::optional<std::string> container_id;
  std::optional<std::string> netns;
  std::optional<std::string> ifname;
  std::optional<std::string> args;
  std::optional<std::string> netns_override;
};

/// What CNI_ARGS says of the pod. Empty where it says nothing.
struct PodArgs {
  std::string name_space;
  std::string name;
  std::string uid;  ///< older containerd and CRI-O leave it out

  bool operator==(const PodArgs&) const = default;
};

/// One call of the plugin, checked (CNI SPEC section 2 "Parameters", section 1 "Configuration").
struct Request {
  Command command = Command::kVersion;
  std::string cni_version;  ///< as given, for answers; may be one we do not support when command is
                            ///< kVersion
  SpecVersion version = SpecVersion::k010;
  std::string network;  ///< name of the configuration
  std::string container_id;
  std::string netns;  ///< path; may be empty for DEL
  std::string ifname;
  bool netns_override = false;  ///< CNI_NETNS may be the plugin's own
  PodArgs pod;
  std::string kuryr_conf;  ///< path of kuryr.conf; empty: the default
  bool debug = false;
};

/// Throws CniError: 4 names every missing and invalid variable at once, 6 is no JSON object, 7 a
/// malformed field, 1 an unsupported cniVersion. VERSION is answered whatever the rest looks like.
[[nodiscard]] Request ParseRequest(const Environment& environment, std::string_view input);

/// The version an error is to be answered in: the input's cniVersion where it can be told, else the
/// newest.
[[nodiscard]] std::string AnswerVersion(std::string_view input);

/// {"cniVersion", "supportedVersions"}.
[[nodiscard]] std::string VersionJson(const std::string& cni_version);

/// CNI_ARGS as "KEY=VALUE;KEY=VALUE". Throws CniError 4.
[[nodiscard]] PodArgs ParseArgs(std::string_view text);

}  // namespace kuryr::cni
