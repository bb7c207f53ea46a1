#include "vif/pci_address.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace kuryr::vif {

std::optional<PciAddress> PciAddress::Parse(std::string_view text) {
  if (text.size() != 12 || text[4] != ':' || text[7] != ':' || text[10] != '.') return std::nullopt;
  struct Part {
    size_t from;
    size_t to;
    uint16_t max;
  };
  constexpr std::array<Part, 4> kParts = {
      {{0, 4, 0xffff}, {5, 7, 0xff}, {8, 10, 0x1f}, {11, 12, 0x7}}};
  std::array<uint16_t, kParts.size()> values{};
  for (size_t i = 0; i < kParts.size(); ++i) {
    const char* end = text.data() + kParts[i].to;
    const auto [stop, error] = std::from_chars(text.data() + kParts[i].from, end, values[i], 16);
    if (error != std::errc() || stop != end || values[i] > kParts[i].max) return std::nullopt;
  }
  return PciAddress{.domain = values[0],
                    .bus = static_cast<uint8_t>(values[1]),
                    .slot = static_cast<uint8_t>(values[2]),
                    .function = static_cast<uint8_t>(values[3])};
}

std::string PciAddress::ToString() const {
  char text[16];
  static_cast<void>(
      std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus, slot, function));
  return text;
}

}  // namespace kuryr::vif
