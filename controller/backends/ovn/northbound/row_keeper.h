#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/backoff.h"
#include "controller/backends/ovn/northbound/wanted_row.h"
#include "ovsdb/replica.h"

namespace kuryr::controller::ovn {

/// Compares rows as they are to be with a replica of the database, and composes the transactions
/// that make them so. Rows are found by external_ids alone, so that a controller that starts goes
/// on where another one ended. A row that differs, whoever changed it, is written again. Not
/// thread-safe.
class RowKeeper {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The columns whose elements are references to rows that RowKeeper may place there.
  struct Shape {
    std::string cluster;  ///< external_ids:kuryr-cluster of every row
    std::map<std::string, std::set<std::string>> reference_columns;  ///< by table
    std::set<std::string> link_columns;  ///< of those, the columns of WantedRow::links
    /// Tables without external_ids: the name of a row is CLUSTER/NAME.
    std::set<std::string> named_tables;
  };
  RowKeeper(Shape shape, std::chrono::milliseconds retry_least,
            std::chrono::milliseconds retry_most);

  void Want(WantedRow row);
  /// As Want. A row that is not there yet goes before all others until it is settled. A row that is
  /// there keeps its place: others may have to change before it.
  void WantFirst(WantedRow row);
  /// The row is not to be there.
  void Drop(const RowKey& key);
  /// Rows of the table whose names begin with that of the prefix: there, wanted or dropped.
  [[nodiscard]] std::set<RowKey> KeysUnder(const RowKey& prefix) const;
  /// The rows that wait now are for one batch, however many they are.
  void KeepTogether() { together_ = queue_.size(); }
  using Choice = std::function<bool(const RowKey& key)>;
  /// From now on, chosen rows of the cluster that nobody has asked for are not to be there.
  void DropUnknown(Choice choice);

  /// Whether the row is as it is to be: there, or gone.
  [[nodiscard]] bool IsSettled(const RowKey& key) const;
  /// Why the last transaction for the row failed; nullopt: it did not.
  [[nodiscard]] std::optional<std::string> FailureOf(const RowKey& key) const;

  /// A value of the row's external_ids in the database; nullopt: the row or the key is not there.
  [[nodiscard]] std::optional<std::string> IdIn(const OvsdbReplica& replica, const RowKey& key,
                                                const std::string& name) const;

  /// A row of the replica has changed (OvsdbReplica::Handlers).
  void OnRow(const std::string& table, const std::string& uuid, const OvsdbRow* before,
             const OvsdbRow* row);

  struct Batch {
    bool is_whole = false;  ///< its rows are together
    nlohmann::json operations = nlohmann::json::array();
    std::vector<RowKey> keys;  ///< whose rows the operations change
    std::vector<RowKey> told;  ///< rows that are as they are to be, or wait after many rewrites

    [[nodiscard]] bool empty() const noexcept { return operations.empty(); }
  };
  /// How much of rows that need not be together is for one batch.
  struct Limits {
    size_t rows = 0;
    size_t bytes = 0;  ///< about; the last row may be longer
  };
  /// The operations for rows that differ. The replica is whole.
  [[nodiscard]] Batch Compose(const OvsdbReplica& replica, const Limits& most, Time now);
  /// The batch was done, and the replica has its changes. A row that other programs have made it
  /// write too often waits before it is looked at again, and has failed meanwhile.
  void OnDone(const Batch& batch, Time now);
  /// The batch changed nothing. Its rows are tried again one by one, and a row that is alone in its
  /// batch after a delay that grows. Returns the rows that are alone.
  std::vector<RowKey> OnFailed(const Batch& batch, const std::string& why, Time now);
  /// It is not known whether the batch was done.
  void OnLost(const Batch& batch);

  /// When a row that failed is to be tried again; nullopt: none failed.
  [[nodiscard]] std::optional<Time> NextTry() const;
  /// Rows that are not as they are to be.
  [[nodiscard]] std::vector<RowKey> Unsettled() const;
  /// The cluster's rows in the database.
  [[nodiscard]] size_t rows() const noexcept { return keys_.size(); }
  [[nodiscard]] size_t pending() const noexcept {
    return first_.size() + queue_.size() + failed_.size();
  }

 private:
  struct Failure {
    std::string why;
    Time until;
  };
  /// How often other programs have changed a settled row.
  struct Rewrites {
    unsigned count = 0;  ///< each within a minute of the one before
    Time last;
    Time look_at;  ///< not before, after too many rewrites
  };
  enum class Stage {
    kQueued,    ///< in queue_, to be looked at
    kUnderWay,  ///< in a batch without an answer, or waiting for another row
    kSettled,   ///< as it is to be
    kFailed,    ///< in failed_, to be queued again
  };
  struct Slot {
    Stage stage = Stage::kUnderWay;
    Failure failure;  ///< of Stage::kFailed
    std::optional<WantedRow> wanted;
    bool dropped = false;
    bool is_first = false;             ///< goes before others
    std::set<std::string> uuids;       ///< more than one: two controllers have written it
    bool alone = false;                ///< a batch with this row and others failed
    std::optional<Rewrites> rewrites;  ///< nullopt: it was not settled since Want or Drop
    std::unique_ptr<Backoff> backoff;
  };
  /// A column of a row of the database, which has a reference.
  struct Holder {
    std::string table;
    std::string uuid;
    std::string column;

    auto operator<=>(const Holder&) const = default;
  };
  class Composer;

  void Change(WantedRow row, bool is_first);
  [[nodiscard]] bool IsNamed(const std::string& table) const {
    return shape_.named_tables.contains(table);
  }
  [[nodiscard]] bool IsUnwanted(const RowKey& key, const Slot& slot) const;
  void Queue(const RowKey& key, Slot& slot);
  [[nodiscard]] RowKey NextQueued();
  void Take(const RowKey& key, Slot& slot, Composer& composer, Time now);
  [[nodiscard]] bool HasQueued() const noexcept { return !first_.empty() || !queue_.empty(); }
  /// Ends the row's wait for the rows that this form of it refers to.
  void StopWaiting(const WantedRow& row);
  void CountRewrite(Slot& slot, Time now);
  void Fail(const RowKey& key, Slot& slot, Failure failure);
  void QueueUuid(const std::string& uuid);
  void Index(const RowKey& key, const std::string& uuid);
  void Forget(const std::string& uuid);
  void TrackReferences(const std::string& table, const std::string& uuid, const OvsdbRow* before,
                       const OvsdbRow* row);
  [[nodiscard]] std::optional<RowKey> KeyOf(const std::string& table, const OvsdbRow& row) const;

  const Shape shape_;
  const std::chrono::milliseconds retry_least_;
  const std::chrono::milliseconds retry_most_;
  Choice drops_unknown_;  ///< empty: none
  std::map<RowKey, Slot> slots_;
  std::unordered_map<std::string, RowKey> keys_;               ///< by the row's UUID
  std::unordered_map<std::string, std::set<Holder>> holders_;  ///< by the UUID that they have
  std::map<RowKey, std::set<RowKey>> waiting_;                 ///< for the row of the key
  std::deque<RowKey> first_;  ///< go before those of queue_, where some may be, too
  std::deque<RowKey> queue_;
  size_t together_ = 0;  ///< how many of the queue's first rows are for one batch
  std::set<std::pair<Time, RowKey>> failed_;
};

}  // namespace kuryr::controller::ovn
