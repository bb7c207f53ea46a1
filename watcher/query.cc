#include "watcher/query.h"

#include <cctype>

namespace kuryr::watcher {

std::string WithQuery(const std::string& path, const std::string& query) {
  return path + (path.find('?') == std::string::npos ? "?" : "&") + query;
}

std::string Escaped(const std::string& text) {
  static constexpr const char* kHex = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      escaped += c;
    } else {
      escaped += {'%', kHex[byte >> 4], kHex[byte & 0xf]};
    }
  }
  return escaped;
}

}  // namespace kuryr::watcher
