#pragma once

#include <compare>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kuryr::controller::ovn {

/// A row of this cluster's in the northbound database. `name` is in its external_ids:kuryr-row, or
/// else in its column name. It is unique among the table's rows of the cluster.
struct RowKey {
  std::string table;
  std::string name;

  auto operator<=>(const RowKey&) const = default;
};

/// A column of another row of this cluster's, a set of references that has the row.
struct Place {
  RowKey row;
  std::string column;

  auto operator<=>(const Place&) const = default;
};

/// A row as it is to be. Columns that it does not name belong to others.
struct WantedRow {
  RowKey key;
  std::map<std::string, nlohmann::json> values;  ///< columns of one value
  /// Keys of columns that are maps; nullopt: the key must be absent. Other keys belong to others.
  std::map<std::string, std::map<std::string, std::optional<std::string>>> maps;
  /// Columns that are maps without keys of others.
  std::map<std::string, std::map<std::string, std::string>> whole_maps;
  std::map<std::string, std::set<std::string>> sets;  ///< columns that are sets of strings
  /// Rows of the cluster's that the columns, which are sets of references, have beside others.
  std::map<std::string, RowKey> links;
  /// Where the row is, in no other rows of the cluster's. OVN keeps a port, a route or an ACL only
  /// while another row has it.
  std::vector<Place> places;

  bool operator==(const WantedRow&) const = default;
};

}  // namespace kuryr::controller::ovn
