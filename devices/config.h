#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "devices/bridges.h"

namespace kuryr::devices {

/// What kuryr.conf says; docs/configuration.md has the table.
struct Config {
  std::filesystem::path config_file = "/etc/pcidp/config.json";  ///< [devices] config_file
  std::string resource_prefix = "intel.com";                     ///< [devices] resource_prefix
  std::filesystem::path kubelet_dir = "/var/lib/kubelet";        ///< [devices] kubelet_dir
  std::filesystem::path sysfs = "/sys";                          ///< [devices] sysfs
  std::filesystem::path devinfo_dir =
      "/var/run/k8s.cni.cncf.io/devinfo";  ///< [devices] devinfo_dir
  BridgeOffer bridges;
  std::string health_address = "127.0.0.1";  ///< [devices_health_server] bind_address
  uint32_t health_port = 8083;               ///< [devices_health_server] port; 0 for none
  bool debug = false;                        ///< [DEFAULT] debug
  std::string log_file;                      ///< [DEFAULT] log_file; stderr when empty
};

/// Reads the files in order, a later one winning; with none named, the default file if it is there.
/// Throws ConfigError that names file, section and option.
[[nodiscard]] Config LoadConfig(std::vector<std::string> files);

}  // namespace kuryr::devices
