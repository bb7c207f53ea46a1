#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kuryr::vif {

/// DOMAIN:BUS:SLOT.FUNCTION of a PCI device, as sysfs names it.
struct PciAddress {
  uint16_t domain = 0;
  uint8_t bus = 0;
  uint8_t slot = 0;
  uint8_t function = 0;

  auto operator<=>(const PciAddress&) const = default;

  /// "0000:03:10.1" in either case, slot at most 1f and function at most 7; nothing else.
  [[nodiscard]] static std::optional<PciAddress> Parse(std::string_view text);
  /// Lower case.
  [[nodiscard]] std::string ToString() const;
};

}  // namespace kuryr::vif
