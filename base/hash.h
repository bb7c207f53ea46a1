#pragma once

#include <cstdint>
#include <string_view>

namespace kuryr {

/// FNV-1a: every build and node computes one value. For names, not against forgery.
[[nodiscard]] constexpr uint64_t Hash(std::string_view text, uint64_t seed = 0xcbf29ce484222325) {
  uint64_t hash = seed;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace kuryr
