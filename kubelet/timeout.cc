#include "kubelet/timeout.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace kuryr::kubelet {
namespace {

constexpr size_t kMostDigits = 8;
constexpr int64_t kMostNumber = 99'999'999;

std::optional<std::chrono::nanoseconds> UnitOf(char letter) {
  switch (letter) {
    case 'H':
      return std::chrono::hours(1);
    case 'M':
      return std::chrono::minutes(1);
    case 'S':
      return std::chrono::seconds(1);
    case 'm':
      return std::chrono::milliseconds(1);
    case 'u':
      return std::chrono::microseconds(1);
    case 'n':
      return std::chrono::nanoseconds(1);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::chrono::nanoseconds> ParseTimeout(std::string_view text) {
  if (text.size() < 2 || text.size() > kMostDigits + 1) return std::nullopt;
  const auto unit = UnitOf(text.back());
  const std::string_view digits = text.substr(0, text.size() - 1);
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (!unit || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  // Eight digits of hours are 11,000 years, too many for nanoseconds.
  const int64_t most = std::chrono::nanoseconds::max() / *unit;
  return *unit * std::min<int64_t>(number, most);
}

std::string FormatTimeout(std::chrono::milliseconds timeout) {
  if (timeout.count() <= kMostNumber) return std::to_string(timeout.count()) + "m";
  const int64_t seconds = std::chrono::ceil<std::chrono::seconds>(timeout).count();
  return std::to_string(std::min(seconds, kMostNumber)) + "S";
}

}  // namespace kuryr::kubelet
