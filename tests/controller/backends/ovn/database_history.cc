#include "tests/controller/backends/ovn/database_history.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace kuryr::controller::ovn {
namespace {

using nlohmann::json;

/// The elements of a set or map; a set of one element is the element itself (RFC 7047, 5.1).
json ElementsOf(const json& value) {
  const bool is_listed = value.is_array() && (value.at(0) == "set" || value.at(0) == "map");
  return is_listed ? value.at(1) : json::array({value});
}

/// A difference of sets and maps names elements that come or go, and of other columns the value.
json Changed(const json& before, const json& difference) {
  const bool is_set = difference.is_array() && difference.at(0) != "map";
  if (!is_set) return difference;
  std::vector<json> elements = ElementsOf(before);
  for (const json& element : ElementsOf(difference)) {
    const auto there = std::find(elements.begin(), elements.end(), element);
    if (there == elements.end()) {
      elements.push_back(element);
    } else {
      elements.erase(there);
    }
  }
  return {"set", elements};
}

void Apply(const json& transaction, DatabaseRows& rows) {
  const bool is_difference = transaction.value("_is_diff", false);
  for (const auto& [table, changes] : transaction.items()) {
    if (table.starts_with("_")) continue;
    for (const auto& [uuid, change] : changes.items()) {
      if (change.is_null()) {
        rows[table].erase(uuid);
        continue;
      }
      json& row = rows[table][uuid];
      for (const auto& [column, value] : change.items()) {
        const bool is_there = row.contains(column) && is_difference;
        row[column] = is_there ? Changed(row[column], value) : value;
      }
    }
  }
}

}  // namespace

void ReplayDatabase(const std::string& file, const std::function<void(const DatabaseRows&)>& look) {
  std::ifstream log(file);
  if (!log) throw std::runtime_error("cannot read " + file);
  DatabaseRows rows;
  bool has_schema = false;
  for (std::string line; std::getline(log, line);) {
    if (!line.starts_with('{')) continue;
    if (std::exchange(has_schema, true)) {
      Apply(json::parse(line), rows);
      look(rows);
    }
  }
}

std::vector<std::string> ReferencesIn(const json& row, const char* column) {
  std::vector<std::string> uuids;
  if (!row.contains(column)) return uuids;
  for (const json& element : ElementsOf(row.at(column))) uuids.push_back(element.at(1));
  return uuids;
}

}  // namespace kuryr::controller::ovn
