#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "devices/device.h"
#include "devices/selector.h"

namespace kuryr::devices {

/// Names and values that a device's pods find in its environment.
using AdditionalInfo = std::map<std::string, std::string>;

/// Whether Kubernetes accepts `text` as an extended resource's name behind its prefix.
[[nodiscard]] bool IsResourceName(std::string_view text);
inline constexpr const char* kResourceNameRule =
    "1 to 63 of letters, digits, '-', '_' and '.', the first and last no sign";

/// A name for devices that pods ask for: an entry of config.json's resourceList, or a bridge.
struct Resource {
  std::string prefix = "intel.com";
  std::string name;
  DeviceType type = DeviceType::kNetDevice;
  bool exclude_topology = false;
  std::vector<Selector> selectors;  ///< one has to match; none: every device does
  std::map<std::string, AdditionalInfo> additional_info;  ///< by device, "*" for all of them

  /// The full name: "intel.com/sriov_net".
  [[nodiscard]] std::string FullName() const { return prefix + "/" + name; }
  /// The first selector that matches; null if none does.
  [[nodiscard]] const Selector* Find(const Device& device) const;
  [[nodiscard]] bool Matches(const Device& device) const;

  bool operator==(const Resource&) const = default;
};

}  // namespace kuryr::devices
