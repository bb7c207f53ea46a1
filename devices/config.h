#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/program_options.h"
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
  ProgramOptions program{.health_port = 8083};  ///< [devices_health_server], [DEFAULT]
};

/// Reads the files in order, a later one winning; with none named, the default file if it is there.
/// Throws ConfigError that names file, section and option.
[[nodiscard]] Config LoadConfig(std::vector<std::string> files);
/// Of that, what `health` needs: the rest may have been spoilt since the program began.
[[nodiscard]] ProgramOptions LoadProgramOptions(std::vector<std::string> files);

}  // namespace kuryr::devices
