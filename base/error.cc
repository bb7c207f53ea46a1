#include "base/error.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace kuryr {

void ThrowErrno(const std::string& what) { ThrowErrno(errno, what); }

void ThrowErrno(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

std::string Printable(const std::string& text, size_t max_length) {
  std::string out;
  for (const char c : text) {
    if (out.size() >= max_length) return out + "...";
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
      out += escaped;
    }
  }
  return out;
}

}  // namespace kuryr
