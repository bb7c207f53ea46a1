#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kuryr {

/// The parts of a database and its schema that a client must know.
struct OvsdbDatabase {
  const char* name;
  /// Whether `value` has the column's type (RFC 7047 section 5.1). True for every value of a column
  /// that this program does not read.
  bool (*is_value_of)(const std::string& column, const nlohmann::json& value);
};

}  // namespace kuryr
