#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/ownership.h"
#include "devices/resource.h"

namespace kuryr::devices {

/// The folder with a file for each device, which CNI plugins read (Network Plumbing Working Group,
/// "Device Information Specification" 1.1.0): DIR/dp/intel.com-sriov_net-ID-device.json. The files
/// outlive the process: their names tell the next process which resource had a device. Throws
/// std::system_error that names the path. Not thread-safe.
class DeviceInfoFolder {
 public:
  /// `path` is DIR.
  explicit DeviceInfoFolder(const std::filesystem::path& path) : folder_(path / "dp") {}

  /// The resources of those `devices` that have a file of one of `resources`.
  [[nodiscard]] Owners Read(const std::vector<Resource>& resources,
                            const std::vector<Device>& devices) const;
  /// Writes the files of `owners` that differ, and removes the others of `resources`.
  void Write(const std::vector<Resource>& resources, const std::vector<Device>& devices,
             const Owners& owners) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace kuryr::devices
