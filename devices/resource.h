#pragma once

#include <map>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/selector.h"

namespace kuryr::devices {

/// Names and values that a device's pods find in its environment.
using AdditionalInfo = std::map<std::string, std::string>;

/// One entry of config.json's resourceList: devices that pods ask for by one name.
struct Resource {
  std::string prefix = "intel.com";
  std::string name;
  DeviceType type = DeviceType::kNetDevice;
  bool exclude_topology = false;
  std::vector<Selector> selectors;  ///< one has to match; none: every device does
  std::map<std::string, AdditionalInfo> additional_info;  ///< by device, "*" for all of them

  /// "intel.com/sriov_net".
  [[nodiscard]] std::string FullName() const { return prefix + "/" + name; }
  /// The first that matches; null when none does.
  [[nodiscard]] const Selector* Find(const Device& device) const;
  [[nodiscard]] bool Matches(const Device& device) const;

  bool operator==(const Resource&) const = default;
};

}  // namespace kuryr::devices
