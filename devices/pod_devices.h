#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/deadline.h"
#include "devices/ownership.h"

namespace kuryr::devices {

/// The devices that the kubelet has given to containers, by the device's id.
struct PodDevices {
  Owners resources;                         ///< by which resource
  std::map<std::string, std::string> pods;  ///< "default/web-0"
};

/// Asks the kubelet (kubelet::PodResources::List). Pods that have ended may be among them.
/// `kubelet_dir`: /var/lib/kubelet. Throws kubelet::KubeletError when it does not answer.
[[nodiscard]] PodDevices ListPodDevices(const std::filesystem::path& kubelet_dir,
                                        const Deadline& deadline);

}  // namespace kuryr::devices
