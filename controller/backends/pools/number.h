#pragma once

#include "base/ip.h"

namespace kuryr::controller::pools {

/// Any address as a number. An IPv4 address is ::ffff:a.b.c.d (RFC 4291, 2.5.5.2), so that a number
/// says its family.
__extension__ typedef unsigned __int128 Number;

[[nodiscard]] Number NumberOf(const IpAddress& address) noexcept;
[[nodiscard]] IpAddress AddressOf(Number number) noexcept;

/// A range of numbers, both ends included.
struct Range {
  Number first = 0;
  Number last = 0;

  bool operator==(const Range&) const = default;

  [[nodiscard]] bool Contains(Number number) const noexcept {
    return first <= number && number <= last;
  }
  [[nodiscard]] bool Overlaps(const Range& other) const noexcept {
    return first <= other.last && other.first <= last;
  }
};

[[nodiscard]] Range RangeOf(const IpNetwork& network) noexcept;

}  // namespace kuryr::controller::pools
