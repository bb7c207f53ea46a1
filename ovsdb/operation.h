#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "ovsdb/database.h"

// The operations and values of OVSDB transactions as JSON (RFC 7047 section 5).

namespace kuryr::ovsdb {

[[nodiscard]] nlohmann::json Uuid(const std::string& uuid);
/// A row inserted by the same transaction.
[[nodiscard]] nlohmann::json NamedUuid(const std::string& name);
[[nodiscard]] nlohmann::json Map(const std::map<std::string, std::string>& map);
/// Parses a <map> of strings.
[[nodiscard]] std::map<std::string, std::string> ParseMap(const nlohmann::json& value);

/// Parses a column of at most one element of type T: the element itself, or T() for an empty <set>.
template <typename T>
[[nodiscard]] T ParseOptional(const nlohmann::json& value) {
  return value.is_array() ? T{} : value.template get_ref<const T&>();
}

/// An empty <set>.
[[nodiscard]] nlohmann::json Nothing();

/// A list of one <condition>; and the empty list, which matches every row.
[[nodiscard]] nlohmann::json Where(const std::string& column, const std::string& function,
                                   const nlohmann::json& value);
[[nodiscard]] nlohmann::json Everywhere();

[[nodiscard]] nlohmann::json Insert(const std::string& table, const std::string& uuid_name,
                                    const nlohmann::json& row);
[[nodiscard]] nlohmann::json Select(const std::string& table, const nlohmann::json& where,
                                    const nlohmann::json& columns);
[[nodiscard]] nlohmann::json Mutate(const std::string& table, const nlohmann::json& where,
                                    const std::string& column, const std::string& mutator,
                                    const nlohmann::json& value);
[[nodiscard]] nlohmann::json Update(const std::string& table, const nlohmann::json& where,
                                    const nlohmann::json& row);
[[nodiscard]] nlohmann::json Delete(const std::string& table, const nlohmann::json& where);
/// Fails the transaction, with "timed out", unless the column of the rows is exactly `value` now.
[[nodiscard]] nlohmann::json Require(const std::string& table, const nlohmann::json& where,
                                     const std::string& column, const nlohmann::json& value);

/// Whether `result` has the form of this operation's successful result. Each row of a Select must
/// have all columns, with values of their types.
[[nodiscard]] bool IsAnswerTo(const nlohmann::json& operation, const nlohmann::json& result,
                              const OvsdbDatabase& database);

/// Whether these are <table-updates2> (ovsdb-server(7)) with values of their columns' types.
[[nodiscard]] bool AreUpdates(const nlohmann::json& updates, const OvsdbDatabase& database);

}  // namespace kuryr::ovsdb
