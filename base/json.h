#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace kuryr {

struct JsonLimits {
  size_t max_depth = 64;
  size_t max_bytes = size_t{1} << 20;
  size_t max_values = size_t{1} << 20;  ///< each takes 16 to 200 bytes of memory, whatever its text
};

/// Parses all text from outside (cluster data, stdin, sockets, state files). Throws ParseError with
/// the byte offset for text that is no JSON (RFC 8259) or no UTF-8. Throws ParseError with the
/// object's path if a limit is exceeded or an object has a key twice. `path` is the place of the
/// text in its own document.
[[nodiscard]] nlohmann::json ParseJson(std::string_view text, const JsonLimits& limits = {},
                                       const std::string& path = "$");

/// The value under `key`; null when there is none, or `json` is no object.
[[nodiscard]] const nlohmann::json& MemberAt(const nlohmann::json& json, std::string_view key);
/// The string under `key`; empty when there is none, or `json` is no object.
[[nodiscard]] std::string StringAt(const nlohmann::json& json, const char* key);

/// One step of a path as JSONPath writes it: ".mtu", or "['openstack.org/kuryr-vif']" for a key
/// that is no plain word. Always printable.
[[nodiscard]] std::string PathStep(std::string_view key);

}  // namespace kuryr
