#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kuryr::controller::ovn {

/// The rows of a database after one of its transactions: by table and UUID, columns as the file has
/// them. A column with its default may be missing.
using DatabaseRows = std::map<std::string, std::map<std::string, nlohmann::json>>;

/// Calls `look` with the rows after each transaction in a file of ovsdb-server (ovsdb(5)), in
/// order. Throws std::runtime_error for a file that cannot be read.
void ReplayDatabase(const std::string& file, const std::function<void(const DatabaseRows&)>& look);

/// The UUIDs in a column of a row that has references.
[[nodiscard]] std::vector<std::string> ReferencesIn(const nlohmann::json& row, const char* column);

}  // namespace kuryr::controller::ovn
