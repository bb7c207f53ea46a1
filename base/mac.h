#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kuryr {

/// An Ethernet address.
struct MacAddress {
  std::array<uint8_t, 6> bytes{};

  auto operator<=>(const MacAddress&) const = default;

  /// Six pairs of hexadecimal digits of either case, all joined by ':' or all by '-'.
  [[nodiscard]] static std::optional<MacAddress> Parse(std::string_view text);
  /// Lower case, joined by ':'.
  [[nodiscard]] std::string ToString() const;
  /// True for the address of one interface: not a group (multicast, broadcast), and not all zeros.
  [[nodiscard]] bool IsUnicast() const noexcept {
    return (bytes[0] & 1) == 0 && bytes != MacAddress{}.bytes;
  }
};

}  // namespace kuryr
