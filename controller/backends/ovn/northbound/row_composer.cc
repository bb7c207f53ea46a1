#include "controller/backends/ovn/northbound/row_composer.h"

#include <iterator>
#include <utility>
#include <vector>

#include "controller/backends/ovn/northbound/row_operations.h"
#include "ovsdb/operation.h"

namespace kuryr::controller::ovn {

using nlohmann::json;

namespace {

/// The bytes of columns that may be long.
size_t SizeOf(const WantedRow& row) {
  size_t bytes = 0;
  for (const auto& [column, value] : row.values)
    bytes += value.is_string() ? value.get_ref<const std::string&>().size() : 0;
  for (const auto& [column, map] : row.whole_maps) {
    for (const auto& [key, value] : map) bytes += key.size() + value.size();
  }
  return bytes;
}

}  // namespace

RowKeeper::Batch RowKeeper::Composer::Take() {
  for (const auto& [column, elements] : mutations_) {
    const auto& [table, row, name, mutator] = column;
    batch_.operations.push_back(ovsdb::Mutate(table, ovsdb::Where("_uuid", "==", row), name,
                                              mutator, json{"set", elements}));
  }
  return std::move(batch_);
}

void RowKeeper::Composer::Look(const RowKey& key, Slot& slot) {
  if (names_.contains(key)) return;  // Another row has needed it already.
  const size_t before = batch_.operations.size() + mutated_;
  bool complete = true;
  if (slot.wanted) {
    complete = Make(key, slot);
  } else if (keeper_.IsUnwanted(key, slot)) {
    Remove(key, slot.uuids, slot.uuids.begin());
  }
  if (batch_.operations.size() + mutated_ > before) {
    batch_.keys.push_back(key);
    if (slot.wanted) bytes_ += SizeOf(*slot.wanted);
  } else if (complete) {
    slot.stage = Stage::kSettled;
    slot.is_first = false;
    if (!slot.rewrites) slot.rewrites = Rewrites();
    slot.alone = false;
    batch_.told.push_back(key);
  }
}

bool RowKeeper::Composer::Make(const RowKey& key, Slot& slot) {
  if (slot.uuids.empty()) return Insert(key, slot);
  const std::string& uuid = *slot.uuids.begin();
  if (const OvsdbRow* row = replica_.Find(key.table, uuid))
    AppendChanges(*slot.wanted, uuid, *row, batch_.operations);
  const bool placed = PlaceThere(*slot.wanted, uuid);
  const bool linked = LinkThere(*slot.wanted, uuid);
  // Its place is gone: OVN deletes a port then, but no load balancer.
  const bool stays = placed || keeper_.holders_.contains(uuid);
  Remove(key, slot.uuids, stays ? std::next(slot.uuids.begin()) : slot.uuids.begin());
  return placed && linked;
}

bool RowKeeper::Composer::Insert(const RowKey& key, Slot& slot) {
  std::vector<json> places;
  for (const Place& place : slot.wanted->places) {
    auto reference = ReferenceTo(place.row);
    if (!reference) {
      keeper_.waiting_[place.row].insert(key);
      return false;
    }
    places.push_back(std::move(*reference));
  }
  json row = RowOf(*slot.wanted);
  for (const auto& [column, target] : slot.wanted->links) {
    auto reference = ReferenceTo(target);
    if (!reference) {
      keeper_.waiting_[target].insert(key);
      return false;
    }
    row[column] = std::move(*reference);
  }
  const std::string name = "row" + std::to_string(batch_.operations.size());
  batch_.operations.push_back(ovsdb::Insert(key.table, name, row));
  names_.emplace(key, name);
  for (size_t i = 0; i < places.size(); ++i)
    Mutate(slot.wanted->places[i], places[i], "insert", ovsdb::NamedUuid(name));
  return true;
}

bool RowKeeper::Composer::PlaceThere(const WantedRow& wanted, const std::string& uuid) {
  const auto held = keeper_.holders_.find(uuid);
  std::set<Holder> extra = held == keeper_.holders_.end() ? std::set<Holder>() : held->second;
  bool all = true;
  for (const Place& place : wanted.places) {
    const auto parent = keeper_.slots_.find(place.row);
    const bool is_there = parent != keeper_.slots_.end() && !parent->second.uuids.empty();
    if (is_there && extra.erase({.table = place.row.table,
                                 .uuid = *parent->second.uuids.begin(),
                                 .column = place.column}) > 0)
      continue;
    const auto reference = ReferenceTo(place.row);
    if (reference) {
      Mutate(place, *reference, "insert", ovsdb::Uuid(uuid));
    } else {
      keeper_.waiting_[place.row].insert(wanted.key);
      all = false;
    }
  }
  // A row without places may be others' link.
  for (const Holder& holder : extra) {
    if (!wanted.places.empty() || !keeper_.shape_.link_columns.contains(holder.column))
      TakeFrom(holder, uuid);
  }
  return all;
}

bool RowKeeper::Composer::LinkThere(const WantedRow& wanted, const std::string& uuid) {
  const OvsdbRow* row = replica_.Find(wanted.key.table, uuid);
  bool all = true;
  for (const auto& [column, target] : wanted.links) {
    const auto slot = keeper_.slots_.find(target);
    if (row != nullptr && slot != keeper_.slots_.end() && !slot->second.uuids.empty() &&
        row->Has(column, *slot->second.uuids.begin()))
      continue;
    const auto reference = ReferenceTo(target);
    if (reference) {
      Mutate({wanted.key, column}, ovsdb::Uuid(uuid), "insert", *reference);
    } else {
      keeper_.waiting_[target].insert(wanted.key);
      all = false;
    }
  }
  return all;
}

void RowKeeper::Composer::Remove(const RowKey& key, const std::set<std::string>& uuids,
                                 std::set<std::string>::const_iterator first) {
  for (; first != uuids.end(); ++first) {
    const auto held = keeper_.holders_.find(*first);
    if (held != keeper_.holders_.end()) {
      for (const Holder& holder : held->second) TakeFrom(holder, *first);
    }
    batch_.operations.push_back(
        ovsdb::Delete(key.table, ovsdb::Where("_uuid", "==", ovsdb::Uuid(*first))));
  }
}

void RowKeeper::Composer::TakeFrom(const Holder& holder, const std::string& uuid) {
  Mutate({{holder.table, ""}, holder.column}, ovsdb::Uuid(holder.uuid), "delete",
         ovsdb::Uuid(uuid));
}

void RowKeeper::Composer::Mutate(const Place& place, const json& reference, const char* mutator,
                                 const json& value) {
  mutations_[{place.row.table, reference, place.column, mutator}].push_back(value);
  ++mutated_;
}

std::optional<json> RowKeeper::Composer::ReferenceTo(const RowKey& key) {
  const auto slot = keeper_.slots_.find(key);
  if (slot == keeper_.slots_.end()) return std::nullopt;
  if (!slot->second.uuids.empty()) return ovsdb::Uuid(*slot->second.uuids.begin());
  if (!names_.contains(key) && slot->second.wanted && slot->second.stage != Stage::kFailed &&
      Insert(key, slot->second))
    batch_.keys.push_back(key);
  const auto name = names_.find(key);
  if (name == names_.end()) return std::nullopt;
  return ovsdb::NamedUuid(name->second);
}

}  // namespace kuryr::controller::ovn
