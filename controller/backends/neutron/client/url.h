#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "watcher/api_root.h"

namespace kuryr::controller::neutron {

/// http(s)://HOST[:PORT][/PATH]. Throws ParseError, whose reason holds no password.
[[nodiscard]] watcher::ApiRoot ParseUrl(const std::string& text);

/// An endpoint's URL with that version of the API at its end, in place of another: Keystone's and
/// Neutron's are named with and without.
[[nodiscard]] std::string WithVersion(std::string url, std::string_view version);

/// RFC 3986: all but unreserved characters are escaped.
[[nodiscard]] std::string Escaped(std::string_view text);

/// "?a=1&b=2" with values escaped; empty without any. A value that is empty is left out.
[[nodiscard]] std::string QueryOf(
    const std::vector<std::pair<std::string_view, std::string>>& values);

}  // namespace kuryr::controller::neutron
