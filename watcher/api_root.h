#pragma once

#include <string>

namespace kuryr::watcher {

/// The parts of ApiConfig::api_root.
struct ApiRoot {
  bool tls = true;
  std::string host;  ///< without brackets
  int port = 443;
  std::string prefix;  ///< "" or "/PATH", no slash at its end

  /// Throws ParseError naming "[kubernetes] api_root".
  [[nodiscard]] static ApiRoot Parse(const std::string& text);
};

}  // namespace kuryr::watcher
