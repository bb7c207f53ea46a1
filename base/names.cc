#include "base/names.h"

#include <algorithm>
#include <cctype>

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

bool IsUuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::equal(text.begin(), text.end(), kForm.begin(), kForm.end(), [](char c, char form) {
    return form == '-' ? c == '-' : std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace kuryr
