#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kuryr {

/// What a client has to know of a database and its schema.
struct OvsdbDatabase {
  const char* name;
  /// Whether `value` has the column's type (RFC 7047 section 5.1). Of a column that nobody here
  /// reads, every value has.
  bool (*is_value_of)(const std::string& column, const nlohmann::json& value);
};

}  // namespace kuryr
