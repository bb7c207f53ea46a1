#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace kuryr {

struct JsonLimits {
  size_t max_depth = 64;
  size_t max_bytes = size_t{1} << 20;
};

/// The one way text from outside becomes JSON (cluster data, stdin, sockets, state files). Throws
/// ParseError, its path
/// "$" and its reason with the byte offset, for what is no JSON (RFC 8259), no UTF-8, deeper or
/// longer than the limits, or has a key twice in one object.
[[nodiscard]] nlohmann::json ParseJson(std::string_view text, const JsonLimits& limits = {});

}  // namespace kuryr
