#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/resource.h"

namespace kuryr::devices {

/// A device node that a container gets.
struct Node {
  std::string host_path;
  std::string container_path;

  bool operator==(const Node&) const = default;
};

/// The nodes and variables that a container gets with one device.
struct Provision {
  std::vector<Node> nodes;
  /// By kind, as the variable ..._INFO has it: "generic", "vfio", "uio", "rdma", "vhost", "vdpa",
  /// "extra".
  std::map<std::string, AdditionalInfo> info;
};

/// Finds further nodes of the device in `sysfs`. Logs a missing node that the resource asks for.
[[nodiscard]] Provision ProvisionOf(const Resource& resource, const Device& device,
                                    const std::filesystem::path& sysfs);

}  // namespace kuryr::devices
