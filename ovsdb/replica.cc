#include "ovsdb/replica.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "ovsdb/error.h"
#include "ovsdb/limit.h"
#include "ovsdb/replica_shim.h"

namespace kuryr {
namespace {

using nlohmann::json;

/// The first update has all rows: 8 MB for 10,000 pods.
constexpr JsonLimits kReplicaLimits = {.max_bytes = size_t{1} << 30, .max_values = size_t{1} << 26};

struct FreeText {
  void operator()(char* text) const noexcept { std::free(text); }
};

/// An <atom> that is a string or a UUID; throws for others.
std::string TextOf(const json& atom) {
  return atom.is_array() ? atom.at(1).get<std::string>() : atom.get<std::string>();
}

bool IsTagged(const json& value, const char* tag) {
  return value.is_array() && value.size() == 2 && value[0] == tag;
}

std::set<std::string> ParseSet(const json& value) {
  if (!IsTagged(value, "set")) return {TextOf(value)};
  std::set<std::string> elements;
  for (const json& atom : value[1]) elements.insert(TextOf(atom));
  return elements;
}

std::map<std::string, std::string> ParseMapOf(const json& value) {
  std::map<std::string, std::string> map;
  if (!IsTagged(value, "map")) throw OvsError("a <map> is expected");
  for (const json& pair : value[1]) map.emplace(TextOf(pair.at(0)), TextOf(pair.at(1)));
  return map;
}

/// A difference of sets has what is new and what goes (ovsdb-server(7), update2).
void ChangeSet(std::set<std::string>& set, const json& difference) {
  for (const std::string& element : ParseSet(difference)) {
    if (!set.insert(element).second) set.erase(element);
  }
}

/// A pair of a difference that the map has goes; another value of a key replaces the former.
void ChangeMap(std::map<std::string, std::string>& map, const json& difference) {
  for (const auto& [key, value] : ParseMapOf(difference)) {
    const auto [entry, is_new] = map.try_emplace(key, value);
    if (is_new) continue;
    if (entry->second == value) {
      map.erase(entry);
    } else {
      entry->second = value;
    }
  }
}

/// Applies a change of the column, or its first value: the difference from nothing.
void ChangeColumn(OvsdbRow& row, const OvsdbTable& table, const std::string& column,
                  const json& value) {
  const auto is_in = [&](const std::vector<std::string>& columns) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  if (is_in(table.maps)) {
    ChangeMap(row.maps[column], value);
    if (row.maps[column].empty()) row.maps.erase(column);
  } else if (is_in(table.sets)) {
    ChangeSet(row.sets[column], value);
    if (row.sets[column].empty()) row.sets.erase(column);
  } else if (is_in(table.values)) {
    if (IsTagged(value, "set") && value[1].empty()) {
      row.values.erase(column);
    } else {
      row.values[column] = value;
    }
  }
}

json RequestsFor(const std::vector<OvsdbTable>& tables) {
  json requests = json::object();
  for (const OvsdbTable& table : tables) {
    json columns = json::array();
    for (const auto* list : {&table.values, &table.maps, &table.sets}) {
      for (const std::string& column : *list) columns.push_back(column);
    }
    requests[table.name] = json::array({{{"columns", columns}}});
  }
  return requests;
}

json ConditionsOf(const std::vector<OvsdbTable>& tables) {
  json conditions = json::object();
  for (const OvsdbTable& table : tables) conditions[table.name] = table.condition;
  return conditions;
}

}  // namespace

const std::string* OvsdbRow::FindIn(const std::string& column, const std::string& key) const {
  const auto map = maps.find(column);
  if (map == maps.end()) return nullptr;
  const auto entry = map->second.find(key);
  return entry == map->second.end() ? nullptr : &entry->second;
}

bool OvsdbRow::Has(const std::string& column, const std::string& element) const {
  const auto set = sets.find(column);
  return set != sets.end() && set->second.contains(element);
}

std::string OvsdbRow::Text(const std::string& column) const {
  const auto value = values.find(column);
  return value != values.end() && value->second.is_string() ? value->second.get<std::string>() : "";
}

void OvsdbReplica::Closer::operator()(ovsdb_replica* replica) const noexcept {
  ovsdb_replica_close(replica);
}

OvsdbReplica::OvsdbReplica(const std::string& database, const std::string& remotes,
                           std::vector<OvsdbTable> tables, Handlers handlers)
    : database_(database), tables_(std::move(tables)), handlers_(std::move(handlers)) {
  for (const OvsdbTable& table : tables_) rows_.try_emplace(table.name);
  const std::string requests = RequestsFor(tables_).dump();
  const std::string conditions = ConditionsOf(tables_).dump();
  const ovsdb_replica_wish wish = {.database = database_.c_str(),
                                   .remotes = remotes.c_str(),
                                   .requests = requests.c_str(),
                                   .conditions = conditions.c_str()};
  ovsdb_replica* opened = nullptr;
  if (const int error = ovsdb_replica_open(&wish, &opened); error != 0)
    ThrowErrno(error, "open a replica of " + database);
  replica_.reset(opened);
}

OvsdbReplica::~OvsdbReplica() = default;

bool OvsdbReplica::Next(const Deadline& deadline) {
  ovsdb_replica_news news = {};
  const int error = ovsdb_replica_next(replica_.get(), ovsdb::LimitOf(deadline), &news);
  if (error == ETIMEDOUT || error == ECANCELED) return false;
  if (error == EPROTO)
    throw OvsError("the server of " + database_ + " knows no monitor_cond: it is too old");
  if (error != 0) ThrowErrno(error, "OVSDB replica of " + database_);
  const std::unique_ptr<char, FreeText> owner(news.text);
  Handle(news.kind, news.text);
  return true;
}

void OvsdbReplica::Handle(int kind, const char* text) {
  switch (kind) {
    case OVSDB_REPLICA_LOST:
      busy_ = false;
      handlers_.lost();
      return;
    case OVSDB_REPLICA_ANSWER:
      busy_ = false;
      handlers_.answered(ParseJson(text, kReplicaLimits));
      return;
    case OVSDB_REPLICA_REFRESH:
      Clear();
      break;
    default:
      break;
  }
  try {
    Apply(ParseJson(text, kReplicaLimits));
  } catch (const std::exception& e) {
    ovsdb_replica_refresh(replica_.get());
    throw OvsError("an update of " + database_ + " has another form: " + e.what());
  }
}

void OvsdbReplica::Clear() {
  for (auto& [table, rows] : rows_) {
    for (const auto& [uuid, row] : rows) handlers_.changed(table, uuid, &row, nullptr);
    rows.clear();
  }
}

void OvsdbReplica::Apply(const json& updates) {
  for (const OvsdbTable& table : tables_) {
    const auto rows = updates.find(table.name);
    if (rows == updates.end()) continue;
    for (const auto& [uuid, update] : rows->items()) ApplyRow(table, uuid, update);
  }
}

void OvsdbReplica::ApplyRow(const OvsdbTable& table, const std::string& uuid, const json& update) {
  Rows& rows = rows_.at(table.name);
  const auto known = rows.find(uuid);
  if (update.contains("delete")) {
    if (known == rows.end()) return;
    handlers_.changed(table.name, uuid, &known->second, nullptr);
    rows.erase(known);
    return;
  }
  const bool modifies = update.contains("modify");
  if (modifies && known == rows.end()) throw OvsError("a row that is unknown changes: " + uuid);
  OvsdbRow row = modifies ? known->second : OvsdbRow();
  const auto& columns = update.begin().value();  // of "initial", "insert" or "modify"
  for (const auto& [column, value] : columns.items()) ChangeColumn(row, table, column, value);
  const OvsdbRow* before = known == rows.end() ? nullptr : &known->second;
  handlers_.changed(table.name, uuid, before, &row);
  rows[uuid] = std::move(row);
}

bool OvsdbReplica::IsReady() const { return ovsdb_replica_is_ready(replica_.get()); }

std::string OvsdbReplica::LastError() const {
  const int error = ovsdb_replica_last_error(replica_.get());
  if (error == 0) return "";
  return error < 0 ? "the server closed the connection" : std::generic_category().message(error);
}

const OvsdbRow* OvsdbReplica::Find(const std::string& table, const std::string& uuid) const {
  const Rows& rows = rows_.at(table);
  const auto found = rows.find(uuid);
  return found == rows.end() ? nullptr : &found->second;
}

size_t OvsdbReplica::Transact(const json& operations) {
  if (busy_ || !IsReady()) return 0;
  json params = json::array({database_});
  params.insert(params.end(), operations.begin(), operations.end());
  const std::string text = params.dump();
  busy_ = ovsdb_replica_send(replica_.get(), text.c_str()) == 0;
  return busy_ ? text.size() : 0;
}

}  // namespace kuryr
