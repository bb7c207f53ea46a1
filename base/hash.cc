#include "base/hash.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "base/error.h"

namespace kuryr {

std::string DigestOf(std::string_view text) {
  constexpr size_t kBytes = 16;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  if (EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1)
    ThrowErrno(ENOSYS, "SHA-256");
  std::string hex;
  for (size_t i = 0; i < kBytes; ++i) {
    hex += kDigits[digest.at(i) >> 4];
    hex += kDigits[digest.at(i) & 0xf];
  }
  return hex;
}

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
