#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace kuryr::cni {

/// What kuryr.conf says of devices that the kubelet gives to pods.
struct DeviceConfig {
  std::filesystem::path kubelet_dir = "/var/lib/kubelet";  ///< [devices] kubelet_dir
  /// [sriov] physnet_resource_mappings: the kubelet's resource ("intel.com/sriov") by physnet.
  std::map<std::string, std::string> resources;
};

}  // namespace kuryr::cni
