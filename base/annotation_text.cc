#include "base/annotation_text.h"

#include <cstdint>

namespace kuryr {

std::string Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1));
}

std::vector<std::string> ListItems(std::string_view text) {
  std::vector<std::string> items;
  if (Trimmed(text).empty()) return items;
  for (size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    items.push_back(Trimmed(text.substr(0, comma)));
    if (comma != std::string_view::npos) text.remove_prefix(comma + 1);
  }
  return items;
}

std::optional<MacAddress> ParseInterfaceMac(std::string_view text) {
  constexpr uint8_t kGroup = 1;
  const auto mac = MacAddress::Parse(text);
  if (!mac || (mac->bytes[0] & kGroup) != 0 || *mac == MacAddress()) return std::nullopt;
  return mac;
}

}  // namespace kuryr
