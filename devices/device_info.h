#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/ownership.h"
#include "devices/resource.h"

namespace kuryr::devices {

/// The folder in which CNI plugins find what a device is, a file for each (Network Plumbing Working
/// Group, "Device Information Specification" 1.1.0): DIR/dp/intel.com-sriov_net-ID-device.json. The
/// files outlive the process: their names tell the next one whose its devices were. Throws
/// std::system_error that names the path. Not thread-safe.
class DeviceInfoFolder {
 public:
  /// `path`: DIR.
  explicit DeviceInfoFolder(const std::filesystem::path& path) : folder_(path / "dp") {}

  /// Those of `devices` that have a file of one of `resources`.
  [[nodiscard]] Owners Read(const std::vector<Resource>& resources,
                            const std::vector<Device>& devices) const;
  /// Writes the files of `owners` that differ, and removes the others of `resources`.
  void Write(const std::vector<Resource>& resources, const std::vector<Device>& devices,
             const Owners& owners) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace kuryr::devices
