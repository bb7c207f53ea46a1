#pragma once

#include <string>
#include <string_view>

namespace kuryr::cni {

/// What CNI_ARGS says of the pod. Empty where it says nothing.
struct PodArgs {
  std::string name_space;
  std::string name;
  std::string uid;  ///< older containerd and CRI-O leave it out

  bool operator==(const PodArgs&) const = default;
};

struct Args {
  PodArgs pod;
  std::string mac;        ///< MAC=, as podman sends it
  std::string ip;         ///< IP=
  std::string device_id;  ///< deviceID=
  std::string ovn_port;   ///< OvnPort=, as ovs-cni's
};

/// CNI_ARGS as "KEY=VALUE;KEY=VALUE". Throws CniError 4 for what is not, and for unknown keys
/// without IgnoreUnknown=1.
[[nodiscard]] Args ParseArgs(std::string_view text);

/// Throws CniError 4 unless the pod is named as Kubernetes names (RFC 1123): both names become part
/// of a URL and of log lines.
void RequirePod(const PodArgs& pod);

}  // namespace kuryr::cni
