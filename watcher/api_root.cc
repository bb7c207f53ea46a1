#include "watcher/api_root.h"

#include <charconv>
#include <string_view>

#include "base/error.h"

namespace kuryr::watcher {

ApiRoot ApiRoot::Parse(const std::string& text) {
  const auto fail = [&](const char* why) -> ParseError {
    return {"[kubernetes] api_root",
            "\"" + Printable(text) + "\" " + why + "; expected http(s)://HOST[:PORT][/PATH]"};
  };
  // It may hold a password, so it is not quoted.
  if (text.find('@') != std::string::npos) {
    throw ParseError("[kubernetes] api_root",
                     "names a user; give a token_file or a client certificate instead");
  }
  ApiRoot root;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    root.tls = false;
  } else {
    throw fail("has no scheme");
  }
  root.port = root.tls ? 443 : 80;

  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    root.prefix = rest.substr(slash);
    while (root.prefix.ends_with('/')) root.prefix.pop_back();
    rest = rest.substr(0, slash);
  }
  const bool bracketed = rest.starts_with('[');
  const size_t host_end = bracketed ? rest.find(']') : rest.find(':');
  if (bracketed && host_end == std::string_view::npos) throw fail("lacks a ]");
  root.host = rest.substr(bracketed ? 1 : 0, bracketed ? host_end - 1 : host_end);
  if (root.host.empty()) throw fail("has no host");

  std::string_view port =
      host_end == std::string_view::npos ? "" : rest.substr(host_end + (bracketed ? 1 : 0));
  if (port.empty()) return root;
  port.remove_prefix(1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), root.port);
  if (error != std::errc() || end != port.data() + port.size() || root.port < 1 ||
      root.port > 65535) {
    throw fail("has a malformed port");
  }
  return root;
}

}  // namespace kuryr::watcher
