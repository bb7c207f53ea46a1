#include "controller/backends/neutron/client/url.h"

#include <array>

#include "base/error.h"

namespace kuryr::controller::neutron {
namespace {

bool IsVersion(std::string_view segment) {
  return segment.size() >= 2 && segment[0] == 'v' && segment[1] >= '0' && segment[1] <= '9' &&
         segment.find_first_not_of("0123456789.", 1) == std::string_view::npos;
}

}  // namespace

watcher::ApiRoot ParseUrl(const std::string& text) {
  // It may hold a password.
  if (text.find('@') != std::string::npos)
    throw ParseError("url", "names a user; the options of [neutron] are the place for it");
  if (text.find_first_of("?# \t\r\n") != std::string::npos)
    throw ParseError("url", "\"" + Printable(text) + "\" is no http(s)://HOST[:PORT][/PATH]");
  return watcher::ApiRoot::Parse(text);
}

std::string WithVersion(std::string url, std::string_view version) {
  while (url.ends_with('/')) url.pop_back();
  const size_t slash = url.rfind('/');
  if (slash != std::string::npos && IsVersion(std::string_view(url).substr(slash + 1)))
    url.resize(slash);
  return url + "/" + std::string(version);
}

std::string Escaped(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  static constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string escaped;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos) {
      escaped += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    escaped += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return escaped;
}

std::string QueryOf(const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string query;
  for (const auto& [name, value] : values) {
    if (value.empty()) continue;
    query += (query.empty() ? "?" : "&") + std::string(name) + "=" + Escaped(value);
  }
  return query;
}

}  // namespace kuryr::controller::neutron
