#include "base/uuid.h"

namespace kuryr {

std::string Hex(uint64_t value, size_t digits) {
  std::string text(digits, '0');
  for (size_t i = digits; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 0xf];
  return text;
}

std::string UuidV8(uint64_t high, uint64_t low) {
  return Hex(high >> 32, 8) + "-" + Hex(high >> 16, 4) + "-8" + Hex(high, 3) + "-a" +
         Hex(low >> 48, 3) + "-" + Hex(low, 12);
}

}  // namespace kuryr
