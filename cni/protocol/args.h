#pragma once

#include <string>
#include <string_view>

namespace kuryr::cni {

/// The pod as CNI_ARGS names it. A field is empty when CNI_ARGS does not have it.
struct PodArgs {
  std::string name_space;
  std::string name;
  std::string uid;  ///< older containerd and CRI-O leave it out

  /// NAMESPACE/NAME.
  [[nodiscard]] std::string key() const { return name_space + "/" + name; }
  bool operator==(const PodArgs&) const = default;
};

struct Args {
  PodArgs pod;
  std::string mac;        ///< MAC=, as podman sends it
  std::string ip;         ///< IP=
  std::string device_id;  ///< deviceID=
  std::string ovn_port;   ///< OvnPort=, as ovs-cni's
};

/// Parses CNI_ARGS, "KEY=VALUE;KEY=VALUE". Throws CniError 4 for another form, and for unknown keys
/// without IgnoreUnknown=1.
[[nodiscard]] Args ParseArgs(std::string_view text);

/// Throws CniError 4 unless namespace and name are valid in Kubernetes (RFC 1123): they become part
/// of a URL and of log lines.
void RequirePod(const PodArgs& pod);

}  // namespace kuryr::cni
