#include "base/json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace kuryr {

nlohmann::json ParseJson(std::string_view text, const JsonLimits& limits) {
  using nlohmann::json;
  if (text.size() > limits.max_bytes) {
    throw ParseError("$", "document of " + std::to_string(text.size()) + " bytes, at most " +
                              std::to_string(limits.max_bytes) + " are accepted");
  }
  std::vector<std::set<std::string>> keys;
  const json::parser_callback_t check = [&](int depth, json::parse_event_t event, json& parsed) {
    if (static_cast<size_t>(depth) > limits.max_depth) {
      throw ParseError("$", "nested deeper than " + std::to_string(limits.max_depth) + " levels");
    }
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key &&
        !keys.back().insert(parsed.get<std::string>()).second) {
      throw ParseError(
          "$", "key \"" + Printable(parsed.get<std::string>()) + "\" stands twice in one object");
    }
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception& e) {
    throw ParseError("$", Printable(e.what(), 200));
  }
}

}  // namespace kuryr
