#include "vif/rules.h"

#include <algorithm>
#include <charconv>

#include "vif/pci_address.h"

namespace kuryr::vif {
namespace {

bool IsHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// True for printable ASCII without space and '/', except "." and "..".
bool IsFileName(std::string_view text) {
  if (text.empty() || text == "." || text == "..") return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c > 0x20 && c < 0x7f && c != '/'; });
}

}  // namespace

bool IsUuid(std::string_view text) {
  constexpr size_t kGroups[] = {8, 4, 4, 4, 12};
  size_t at = 0;
  for (const size_t digits : kGroups) {
    if (at != 0 && at < text.size() && text[at] == '-') ++at;
    const size_t end = at + digits;
    if (end > text.size()) return false;
    for (; at < end; ++at) {
      if (!IsHexDigit(text[at])) return false;
    }
  }
  return at == text.size();
}

bool IsEmptyOrPciAddress(std::string_view text) {
  return text.empty() || PciAddress::Parse(text).has_value();
}

bool IsEmptyOrFileName(std::string_view text) { return text.empty() || IsFileName(text); }

bool IsEmptyOrVlanName(std::string_view text) {
  if (text.empty()) return true;
  if (!IsLinkName(text)) return false;
  const bool is_number =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) return true;
  int64_t id = 0;  // 15 digits at most
  std::from_chars(text.data(), text.data() + text.size(), id);
  return IsVlanId(id);
}

bool IsVlanId(int64_t number) { return number >= 1 && number <= 4094; }

bool IsMtu(int64_t number) { return number == 0 || (number >= 68 && number <= 65535); }

}  // namespace kuryr::vif
