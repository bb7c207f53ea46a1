#pragma once

#include <string>

namespace kuryr::watcher {

/// Says why no connection to the server could be made just now: "no such host: api.example.org
/// (Name or service not known)", "Connection refused". httplib does not tell, so this resolves the
/// name and connects once more, for at most a second.
[[nodiscard]] std::string WhyNotConnected(const std::string& host, int port);

}  // namespace kuryr::watcher
