#pragma once

#include <cstdint>

namespace kuryr::cni {

/// Limits as in CNI's plugin bandwidth: seen from the pod, in bit/s and bit. A rate of 0 is no
/// limit. For a burst of 0, the driver chooses one.
struct Bandwidth {
  uint64_t ingress_rate = 0;
  uint64_t ingress_burst = 0;
  uint64_t egress_rate = 0;
  uint64_t egress_burst = 0;

  bool operator==(const Bandwidth&) const = default;
};

}  // namespace kuryr::cni
