#include "base/names.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace kuryr {
namespace {

/// Letters to insert, remove, replace or swap with their neighbour (optimal string alignment).
size_t Distance(std::string_view from, std::string_view to) {
  std::vector<size_t> before_last;
  std::vector<size_t> last(to.size() + 1);
  for (size_t j = 0; j <= to.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= from.size(); ++i) {
    std::vector<size_t> row(to.size() + 1, i);
    for (size_t j = 1; j <= to.size(); ++j) {
      const size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last.back();
}

}  // namespace

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

std::string NearestName(std::string_view word, const std::vector<std::string>& names, size_t most) {
  constexpr size_t kLongest = 100;
  if (word.size() > kLongest) return "";
  std::string nearest;
  size_t least = std::min(most, std::max<size_t>(1, word.size() / 3)) + 1;
  for (const std::string& name : names) {
    const size_t distance = Distance(word, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace kuryr
