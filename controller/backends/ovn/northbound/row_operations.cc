#include "controller/backends/ovn/northbound/row_operations.h"

#include <map>
#include <optional>
#include <set>

#include "ovsdb/operation.h"

namespace kuryr::controller::ovn {
namespace {

using nlohmann::json;
using Wishes = std::map<std::string, std::optional<std::string>>;

json SetOf(const std::set<std::string>& elements) { return json::array({"set", json(elements)}); }

json MapOf(const Wishes& wishes) {
  std::map<std::string, std::string> map;
  for (const auto& [key, value] : wishes) {
    if (value) map.emplace(key, *value);
  }
  return ovsdb::Map(map);
}

json ValueIn(const OvsdbRow& row, const std::string& column) {
  const auto value = row.values.find(column);
  return value == row.values.end() ? ovsdb::Nothing() : value->second;
}

std::set<std::string> SetIn(const OvsdbRow& row, const std::string& column) {
  const auto set = row.sets.find(column);
  return set == row.sets.end() ? std::set<std::string>() : set->second;
}

std::map<std::string, std::string> MapIn(const OvsdbRow& row, const std::string& column) {
  const auto map = row.maps.find(column);
  return map == row.maps.end() ? std::map<std::string, std::string>() : map->second;
}

/// Keys of others stay: the map is changed key by key.
json MutationsOf(const std::string& column, const Wishes& wishes, const OvsdbRow& row) {
  std::set<std::string> gone;
  Wishes there;
  for (const auto& [key, value] : wishes) {
    const std::string* present = row.FindIn(column, key);
    if (present != nullptr && value != *present) gone.insert(key);
    if (value && (present == nullptr || value != *present)) there.emplace(key, value);
  }
  json mutations = json::array();
  if (!gone.empty()) mutations.push_back({column, "delete", SetOf(gone)});
  if (!there.empty()) mutations.push_back({column, "insert", MapOf(there)});
  return mutations;
}

}  // namespace

json RowOf(const WantedRow& wanted) {
  json row = json::object();
  for (const auto& [column, value] : wanted.values) row[column] = value;
  for (const auto& [column, wishes] : wanted.maps) row[column] = MapOf(wishes);
  for (const auto& [column, map] : wanted.whole_maps) row[column] = ovsdb::Map(map);
  for (const auto& [column, elements] : wanted.sets) row[column] = SetOf(elements);
  return row;
}

void AppendChanges(const WantedRow& wanted, const std::string& uuid, const OvsdbRow& row,
                   json& operations) {
  const json where = ovsdb::Where("_uuid", "==", ovsdb::Uuid(uuid));
  json columns = json::object();
  for (const auto& [column, value] : wanted.values) {
    if (ValueIn(row, column) != value) columns[column] = value;
  }
  for (const auto& [column, elements] : wanted.sets) {
    if (SetIn(row, column) != elements) columns[column] = SetOf(elements);
  }
  for (const auto& [column, map] : wanted.whole_maps) {
    if (MapIn(row, column) != map) columns[column] = ovsdb::Map(map);
  }
  if (!columns.empty()) operations.push_back(ovsdb::Update(wanted.key.table, where, columns));
  json mutations = json::array();
  for (const auto& [column, wishes] : wanted.maps) {
    for (json& mutation : MutationsOf(column, wishes, row))
      mutations.push_back(std::move(mutation));
  }
  if (mutations.empty()) return;
  operations.push_back({{"op", "mutate"},
                        {"table", wanted.key.table},
                        {"where", where},
                        {"mutations", std::move(mutations)}});
}

}  // namespace kuryr::controller::ovn
