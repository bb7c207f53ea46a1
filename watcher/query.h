#pragma once

#include <string>

namespace kuryr::watcher {

/// The path of a request with one more part of its query: "limit=500".
[[nodiscard]] std::string WithQuery(const std::string& path, const std::string& query);

/// A value in a query (RFC 3986); continue tokens are opaque.
[[nodiscard]] std::string Escaped(const std::string& text);

}  // namespace kuryr::watcher
