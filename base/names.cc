#include "base/names.h"

#include <algorithm>

namespace kuryr {

bool IsLinkName(std::string_view text) {
  if (text.empty() || text.size() > 15 || text == "." || text == "..") return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c < 0x7f && c != '/' && c != ':'; });
}

bool IsDnsName(std::string_view text) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > 253 || !alphanumeric(text.front()) ||
      !alphanumeric(text.back()))
    return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return alphanumeric(c) || c == '-' || c == '.'; });
}

}  // namespace kuryr
