#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "devices/device.h"

namespace kuryr::devices {

/// A container's devices that the kubelet may choose from.
struct Choice {
  std::vector<Device> available;    ///< with those that it has to include
  std::set<std::string> mandatory;  ///< ids
  size_t size = 0;                  ///< devices wanted in all
};

/// Of one physical function where it has enough, and then the one with the fewest; otherwise of one
/// NUMA node; otherwise of as few of either as it takes. The mandatory ones come first. At most
/// `size` ids.
[[nodiscard]] std::vector<std::string> Prefer(const Choice& choice);

}  // namespace kuryr::devices
