#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/deadline.h"

namespace kuryr::kubelet {

struct PodName {
  std::string name_space;
  std::string name;

  /// "NAMESPACE/NAME".
  [[nodiscard]] std::string ToString() const { return name_space + "/" + name; }
};

/// The ids of the devices that all containers of a pod have, by resource ("intel.com/sriov").
using DevicesByResource = std::map<std::string, std::set<std::string>>;

/// A pod and its devices.
struct ListedPod {
  PodName name;
  DevicesByResource devices;
};

/// The kubelet cannot be asked, or gives no answer. what() names the socket, the question and a
/// remedy.
class KubeletError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Asks the kubelet for the devices that it gave to pods (PodResources). Keeps no connection.
/// Thread-safe.
class PodResources {
 public:
  /// `kubelet_dir` is [devices] kubelet_dir, the kubelet's --root-dir.
  explicit PodResources(const std::filesystem::path& kubelet_dir)
      : socket_(kubelet_dir / "pod-resources/kubelet.sock") {}

  /// Asks by v1's Get, or if the kubelet refuses Get, by List of v1 (1.20) or v1alpha1. nullopt for
  /// a pod that the kubelet does not know. Throws KubeletError; std::system_error, ECANCELED.
  [[nodiscard]] std::optional<DevicesByResource> DevicesOf(const PodName& pod,
                                                           const Deadline& deadline) const;
  /// All pods, maybe with some that have ended. Asks by List of v1, or of v1alpha1 if v1 is
  /// missing. Throws KubeletError; std::system_error, ECANCELED.
  [[nodiscard]] std::vector<ListedPod> List(const Deadline& deadline) const;
  [[nodiscard]] const std::string& socket() const noexcept { return socket_; }

 private:
  const std::string socket_;
};

}  // namespace kuryr::kubelet
