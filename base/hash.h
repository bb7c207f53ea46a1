#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kuryr {

/// FNV-1a: every build and node computes one value. For names, not against forgery.
[[nodiscard]] constexpr uint64_t Hash(std::string_view text, uint64_t seed = 0xcbf29ce484222325) {
  uint64_t hash = seed;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

/// The first 16 bytes of the text's SHA-256, in lower-case hexadecimal digits: enough that no two
/// texts can be found that have one digest.
[[nodiscard]] std::string DigestOf(std::string_view text);

/// The lowest `digits` hexadecimal digits of `value`, in lower case.
[[nodiscard]] std::string Hex(uint64_t value, size_t digits);

/// A UUID of version 8 (RFC 9562: the vendor's own). The version replaces bits 12 to 15 of `high`,
/// the variant the top four of `low`.
[[nodiscard]] std::string UuidV8(uint64_t high, uint64_t low);

}  // namespace kuryr
