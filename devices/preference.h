#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "devices/device.h"

namespace kuryr::devices {

/// The devices from which the kubelet chooses a container's devices.
struct Choice {
  std::vector<Device> available;    ///< with those that it has to include
  std::set<std::string> mandatory;  ///< ids
  size_t size = 0;                  ///< devices wanted in all
};

/// Prefers devices of one physical function with enough devices, and among such functions the
/// smallest. Otherwise it prefers one NUMA node, and otherwise as few functions and nodes as
/// possible. The mandatory devices come first. Returns at most `size` ids.
[[nodiscard]] std::vector<std::string> Prefer(const Choice& choice);

}  // namespace kuryr::devices
