#include "kubelet/status.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/error.h"

namespace kuryr::kubelet {
namespace {

constexpr std::array kNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};
constexpr size_t kLongestText = 300;

std::optional<char> DecodeByte(std::string_view digits) {
  unsigned byte = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
  if (digits.size() != 2 || error != std::errc() || end != digits.data() + digits.size())
    return std::nullopt;
  return static_cast<char>(byte);
}

}  // namespace

CallError::CallError(Status status)
    : std::runtime_error(std::string(ToString(status.code)) + (status.message.empty() ? "" : ": ") +
                         Printable(status.message, kLongestText)),
      status_(std::move(status)) {}

const char* ToString(StatusCode code) { return kNames.at(static_cast<size_t>(code)); }

StatusCode ParseStatusCode(std::string_view text) {
  size_t code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  const bool is_known =
      error == std::errc() && end == text.data() + text.size() && code < kNames.size();
  return is_known ? static_cast<StatusCode>(code) : StatusCode::kUnknown;
}

std::string PercentEncode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%') {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

std::string PercentDecode(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto byte = text.front() == '%' ? DecodeByte(text.substr(1, 2)) : std::nullopt;
    out += byte.value_or(text.front());
    text.remove_prefix(byte ? 3 : 1);
  }
  return out;
}

}  // namespace kuryr::kubelet
