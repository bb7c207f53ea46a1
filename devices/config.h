#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/program_options.h"
#include "devices/bridges.h"

namespace kuryr::devices {

/// kuryr-devices' options of kuryr.conf; docs/configuration.md has the table.
struct Config {
  std::filesystem::path config_file = "/etc/pcidp/config.json";  ///< [devices] config_file
  std::string resource_prefix = "intel.com";                     ///< [devices] resource_prefix
  std::filesystem::path kubelet_dir = "/var/lib/kubelet";        ///< [devices] kubelet_dir
  std::filesystem::path sysfs = "/sys";                          ///< [devices] sysfs
  std::filesystem::path devinfo_dir =
      "/var/run/k8s.cni.cncf.io/devinfo";  ///< [devices] devinfo_dir
  BridgeOffer bridges;
  ProgramOptions program{.health_port = 8083};  ///< [devices_health_server], [DEFAULT]
};

/// Reads the files in order; a later file wins. Without names, reads the default file if it exists.
/// Throws ConfigError that names file, section and option.
[[nodiscard]] Config LoadConfig(std::vector<std::string> files);
[[nodiscard]] Config LoadConfig(const ConfigFiles& files);
/// Reads only the options that the command `health` needs; others may be malformed by now. Throws
/// ConfigError.
[[nodiscard]] ProgramOptions ReadProgramOptions(const ConfigFiles& files);

}  // namespace kuryr::devices
