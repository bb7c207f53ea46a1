#include "base/base64.h"

#include <openssl/evp.h>

#include <algorithm>
#include <vector>

namespace kuryr {
namespace {

const unsigned char* BytesOf(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string EncodeBase64(const std::string& bytes) {
  std::vector<unsigned char> text((bytes.size() + 2) / 3 * 4 + 1);
  const int size = EVP_EncodeBlock(text.data(), BytesOf(bytes), static_cast<int>(bytes.size()));
  return {text.begin(), text.begin() + size};
}

/// EVP_DecodeBlock takes '=' for a digit, and ignores blanks and dashes at the ends.
std::optional<std::string> DecodeBase64(std::string text) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
  const size_t digits = std::min(text.find('='), text.size());
  const size_t padding = text.size() - digits;
  if (digits == 0 || text.size() % 4 != 0 || padding > 2 ||
      text.find_first_not_of('=', digits) != std::string::npos) {
    return std::nullopt;
  }
  std::vector<unsigned char> bytes(text.size() / 4 * 3);
  const int size = EVP_DecodeBlock(bytes.data(), BytesOf(text), static_cast<int>(text.size()));
  if (size != static_cast<int>(bytes.size())) return std::nullopt;
  return std::string(bytes.begin(), bytes.end() - static_cast<std::ptrdiff_t>(padding));
}

}  // namespace kuryr
