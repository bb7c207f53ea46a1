#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "controller/backends/ovn/northbound/row_keeper.h"

namespace kuryr::controller::ovn {

/// Composes one batch: looks at rows, and writes the operations that make them as they are wanted.
class RowKeeper::Composer {
 public:
  Composer(RowKeeper& keeper, const OvsdbReplica& replica) : keeper_(keeper), replica_(replica) {}

  [[nodiscard]] Batch Take();
  [[nodiscard]] size_t size() const { return batch_.keys.size(); }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  void Tell(const RowKey& key) { batch_.told.push_back(key); }

  /// Looks at the row of a slot that has just been taken from the queue.
  void Look(const RowKey& key, Slot& slot);

 private:
  /// False: the row waits for another one.
  bool Make(const RowKey& key, Slot& slot);
  bool Insert(const RowKey& key, Slot& slot);
  /// The row is where it is to be, and nowhere else. False: one of the places is not there.
  bool PlaceThere(const WantedRow& wanted, const std::string& uuid);
  /// The row has its links. False: one of their targets is not there.
  bool LinkThere(const WantedRow& wanted, const std::string& uuid);
  void Remove(const RowKey& key, const std::set<std::string>& uuids,
              std::set<std::string>::const_iterator first);
  void TakeFrom(const Holder& holder, const std::string& uuid);
  void Mutate(const Place& place, const nlohmann::json& reference, const char* mutator,
              const nlohmann::json& value);
  /// The row, there or inserted by this batch; nullopt: neither.
  std::optional<nlohmann::json> ReferenceTo(const RowKey& key);

  RowKeeper& keeper_;
  const OvsdbReplica& replica_;
  Batch batch_;
  std::map<RowKey, std::string> names_;  ///< of rows that the batch inserts
  /// Elements of sets that come or go, by table, row, column and mutator. The server's cost of an
  /// operation is that of the whole set, so each set has one operation.
  std::map<std::tuple<std::string, nlohmann::json, std::string, std::string>, nlohmann::json>
      mutations_;
  size_t mutated_ = 0;
  size_t bytes_ = 0;  ///< of the columns of rows
};

}  // namespace kuryr::controller::ovn
