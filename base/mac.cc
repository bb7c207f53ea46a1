#include "base/mac.h"

#include <charconv>
#include <cstdio>

namespace kuryr {

std::optional<MacAddress> MacAddress::Parse(std::string_view text) {
  if (text.size() != 17 || (text[2] != ':' && text[2] != '-')) return std::nullopt;
  MacAddress mac;
  for (size_t i = 0; i < mac.bytes.size(); ++i) {
    const char* pair = text.data() + i * 3;
    if (i > 0 && pair[-1] != text[2]) return std::nullopt;
    const auto [end, error] = std::from_chars(pair, pair + 2, mac.bytes[i], 16);
    if (error != std::errc() || end != pair + 2) return std::nullopt;
  }
  return mac;
}

std::string MacAddress::ToString() const {
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2],
                bytes[3], bytes[4], bytes[5]);
  return text;
}

}  // namespace kuryr
