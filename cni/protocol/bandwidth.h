#pragma once

#include <cstdint>

namespace kuryr::cni {

/// As CNI's plugin bandwidth has it: limits from the pod's side, in bit/s and bit. A rate of 0 is
/// no limit, and a burst of 0 is left to who limits.
struct Bandwidth {
  uint64_t ingress_rate = 0;
  uint64_t ingress_burst = 0;
  uint64_t egress_rate = 0;
  uint64_t egress_burst = 0;

  bool operator==(const Bandwidth&) const = default;
};

}  // namespace kuryr::cni
