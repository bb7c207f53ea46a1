#pragma once

#include <string>

namespace kuryr::watcher {

/// Adds one part, such as "limit=500", to the query of a request's path.
[[nodiscard]] std::string WithQuery(const std::string& path, const std::string& query);

/// Escapes a value in a query (RFC 3986); continue tokens are opaque.
[[nodiscard]] std::string Escaped(const std::string& text);

}  // namespace kuryr::watcher
