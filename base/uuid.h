#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kuryr {

/// The lowest `digits` hexadecimal digits of `value`, in lower case.
[[nodiscard]] std::string Hex(uint64_t value, size_t digits);

/// A UUID of version 8 (RFC 9562: the vendor's own). The version replaces bits 12 to 15 of `high`,
/// the variant the top four of `low`.
[[nodiscard]] std::string UuidV8(uint64_t high, uint64_t low);

}  // namespace kuryr
