#include "ovsdb/operation.h"

#include <algorithm>

namespace kuryr::ovsdb {

using nlohmann::json;

namespace {

bool HasColumns(const json& row, const json& columns, const OvsdbDatabase& database) {
  return row.is_object() && std::all_of(columns.begin(), columns.end(), [&](const json& column) {
           const auto& name = column.get_ref<const std::string&>();
           return row.contains(name) && database.is_value_of(name, row.at(name));
         });
}

bool AreRows(const json& rows, const json& columns, const OvsdbDatabase& database) {
  return rows.is_array() && std::all_of(rows.begin(), rows.end(), [&](const json& row) {
           return HasColumns(row, columns, database);
         });
}

bool IsRowUpdate(const json& update, const OvsdbDatabase& database) {
  if (!update.is_object()) return false;
  for (const auto& [kind, row] : update.items()) {
    if (kind == "delete") continue;
    if (!row.is_object()) return false;
    for (const auto& [column, value] : row.items()) {
      if (!database.is_value_of(column, value)) return false;
    }
  }
  return true;
}

}  // namespace

json Uuid(const std::string& uuid) { return json::array({"uuid", uuid}); }

json NamedUuid(const std::string& name) { return json::array({"named-uuid", name}); }

json Map(const std::map<std::string, std::string>& map) {
  json pairs = json::array();
  for (const auto& [key, value] : map) pairs.push_back(json::array({key, value}));
  return json::array({"map", pairs});
}

std::map<std::string, std::string> ParseMap(const json& value) {
  std::map<std::string, std::string> map;
  for (const json& pair : value.at(1)) {
    map[pair.at(0).get<std::string>()] = pair.at(1).get<std::string>();
  }
  return map;
}

json Nothing() { return json::array({"set", json::array()}); }

json Where(const std::string& column, const std::string& function, const json& value) {
  return json::array({json::array({column, function, value})});
}

json Everywhere() { return json::array(); }

json Insert(const std::string& table, const std::string& uuid_name, const json& row) {
  return {{"op", "insert"}, {"table", table}, {"uuid-name", uuid_name}, {"row", row}};
}

json Select(const std::string& table, const json& where, const json& columns) {
  return {{"op", "select"}, {"table", table}, {"where", where}, {"columns", columns}};
}

json Mutate(const std::string& table, const json& where, const std::string& column,
            const std::string& mutator, const json& value) {
  return {{"op", "mutate"},
          {"table", table},
          {"where", where},
          {"mutations", json::array({json::array({column, mutator, value})})}};
}

json Update(const std::string& table, const json& where, const json& row) {
  return {{"op", "update"}, {"table", table}, {"where", where}, {"row", row}};
}

json Delete(const std::string& table, const json& where) {
  return {{"op", "delete"}, {"table", table}, {"where", where}};
}

json Require(const std::string& table, const json& where, const std::string& column,
             const json& value) {
  return {{"op", "wait"},
          {"timeout", 0},
          {"table", table},
          {"where", where},
          {"columns", json::array({column})},
          {"until", "=="},
          {"rows", json::array({json{{column, value}}})}};
}

bool IsAnswerTo(const json& operation, const json& result, const OvsdbDatabase& database) {
  if (!result.is_object()) return false;
  const json& op = operation.at("op");
  if (op == "select")
    return AreRows(result.value("rows", json()), operation.at("columns"), database);
  if (op == "insert") return database.is_value_of("_uuid", result.value("uuid", json()));
  if (op == "mutate" || op == "update" || op == "delete")
    return result.value("count", json()).is_number_integer();
  return true;
}

bool AreUpdates(const json& updates, const OvsdbDatabase& database) {
  const auto is_update = [&](const json& row) { return IsRowUpdate(row, database); };
  return updates.is_object() && std::all_of(updates.begin(), updates.end(), [&](const json& rows) {
           return rows.is_object() && std::all_of(rows.begin(), rows.end(), is_update);
         });
}

}  // namespace kuryr::ovsdb
