#include "cni/protocol/trace_id.h"

#include <sys/random.h>

#include <array>
#include <cstdint>

#include "base/error.h"

namespace kuryr::cni {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr size_t kTraceIdLength = 32;
constexpr size_t kParentIdLength = 16;

bool IsHex(std::string_view text, size_t length) {
  return text.size() == length && text.find_first_not_of(kHexDigits) == std::string_view::npos;
}

bool IsId(std::string_view text, size_t length) {
  return IsHex(text, length) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

bool IsTraceId(std::string_view text) { return IsId(text, kTraceIdLength); }

std::optional<std::string> TraceIdOf(std::string_view traceparent) {
  constexpr size_t kLength = 55;
  if (traceparent.size() < kLength) return std::nullopt;
  const std::string_view version = traceparent.substr(0, 2);
  const std::string_view trace_id = traceparent.substr(3, kTraceIdLength);
  const std::string_view parent_id = traceparent.substr(36, kParentIdLength);
  const std::string_view flags = traceparent.substr(53, 2);
  const std::string_view rest = traceparent.substr(kLength);
  const bool valid = IsHex(version, 2) && version != "ff" && IsTraceId(trace_id) &&
                     IsId(parent_id, kParentIdLength) && IsHex(flags, 2) && traceparent[2] == '-' &&
                     traceparent[35] == '-' && traceparent[52] == '-' &&
                     // Later versions may go on behind another '-'.
                     (rest.empty() || (version != "00" && rest.front() == '-'));
  return valid ? std::optional<std::string>(trace_id) : std::nullopt;
}

std::string NewTraceId() {
  std::array<uint8_t, kTraceIdLength / 2> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    ThrowErrno("getrandom");
  std::string id;
  for (const uint8_t byte : bytes) (id += kHexDigits[byte >> 4]) += kHexDigits[byte & 0xf];
  return id;
}

}  // namespace kuryr::cni
