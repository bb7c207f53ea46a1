#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/deadline.h"

struct ovsdb_replica;

namespace kuryr {

/// A row of a replica. An empty set or map, and an optional column without value, has no entry.
/// References are UUIDs as text.
struct OvsdbRow {
  std::map<std::string, nlohmann::json> values;  ///< columns of one value at most
  std::map<std::string, std::map<std::string, std::string>> maps;
  std::map<std::string, std::set<std::string>> sets;  ///< columns of several values

  /// nullptr: the map lacks the key.
  [[nodiscard]] const std::string* FindIn(const std::string& column, const std::string& key) const;
  [[nodiscard]] bool Has(const std::string& column, const std::string& element) const;
  [[nodiscard]] std::string Text(const std::string& column) const;  ///< empty: no value, no text
};

/// A table, with the columns that are replicated. All maps and sets are of strings or UUIDs.
struct OvsdbTable {
  std::string name;
  std::vector<std::string> values;
  std::vector<std::string> maps;
  std::vector<std::string> sets;
  nlohmann::json condition;  ///< of the rows ("where" of monitor_cond, ovsdb-server(7))
};

/// A copy of a part of a database that follows it: by monitor_cond_since, from the leader of a
/// cluster, through reconnections. It reports each row that changes, and does one transaction at a
/// time. Not thread-safe.
class OvsdbReplica {
 public:
  using Rows = std::unordered_map<std::string, OvsdbRow>;  ///< by UUID

  struct Handlers {
    /// A row is new, has changed or is about to go (`row` is nullptr). `before` is nullptr for a
    /// new one.
    std::function<void(const std::string& table, const std::string& uuid, const OvsdbRow* before,
                       const OvsdbRow* row)>
        changed;
    /// The results of the transaction (RFC 7047, 4.1.3), after its changes.
    std::function<void(const nlohmann::json& results)> answered;
    /// The connection is lost. A transaction without answer was done or was not; Transact may be
    /// called once the replica is ready.
    std::function<void()> lost;
  };

  /// `remotes` as in ovsdb(7), with commas between the servers of a cluster. TLS files are
  /// OvsdbClient's.
  OvsdbReplica(const std::string& database, const std::string& remotes,
               std::vector<OvsdbTable> tables, Handlers handlers);
  ~OvsdbReplica();
  OvsdbReplica(const OvsdbReplica&) = delete;
  OvsdbReplica& operator=(const OvsdbReplica&) = delete;

  /// Waits for news and hands it to the handlers, until the deadline or its descriptor ends the
  /// wait. False: there was none. Throws OvsError for a server that is too old. An update that does
  /// not fit the tables is an OvsError, too; the replica then reads the whole database anew.
  bool Next(const Deadline& deadline);

  /// Whether the replica is whole and connected, with no news that Next has not handed out.
  [[nodiscard]] bool IsReady() const;
  /// Why the last connection ended; empty: none did.
  [[nodiscard]] std::string LastError() const;

  [[nodiscard]] const Rows& RowsOf(const std::string& table) const { return rows_.at(table); }
  /// nullptr: there is none.
  [[nodiscard]] const OvsdbRow* Find(const std::string& table, const std::string& uuid) const;

  /// Sends the operations as one transaction. Returns its size in bytes of JSON. 0: it was not
  /// sent, because the replica is not ready or another transaction is under way.
  size_t Transact(const nlohmann::json& operations);

 private:
  struct Closer {
    void operator()(ovsdb_replica* replica) const noexcept;
  };

  void Handle(int kind, const char* text);
  void Clear();
  void Apply(const nlohmann::json& updates);
  void ApplyRow(const OvsdbTable& table, const std::string& uuid, const nlohmann::json& update);

  const std::string database_;
  const std::vector<OvsdbTable> tables_;
  const Handlers handlers_;
  std::map<std::string, Rows> rows_;
  bool busy_ = false;  ///< a transaction is under way
  std::unique_ptr<ovsdb_replica, Closer> replica_;
};

}  // namespace kuryr
