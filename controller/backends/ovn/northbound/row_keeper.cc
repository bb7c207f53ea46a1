#include "controller/backends/ovn/northbound/row_keeper.h"

#include <algorithm>
#include <utility>

#include "controller/backends/ovn/northbound/row_composer.h"

namespace kuryr::controller::ovn {

namespace {

constexpr const char* kExternalIds = "external_ids";
constexpr const char* kClusterId = "kuryr-cluster";
constexpr const char* kRowId = "kuryr-row";
/// A row that others change more often within this time is written less often.
constexpr unsigned kMostRewrites = 10;
constexpr std::chrono::minutes kRewriteTime{1};

/// Whether column name is the row's key, as of pods' ports: then no other column repeats it.
bool IsNamedAs(const WantedRow& row) {
  const auto name = row.values.find("name");
  return name != row.values.end() && name->second == row.key.name;
}

}  // namespace

RowKeeper::RowKeeper(Shape shape, std::chrono::milliseconds retry_least,
                     std::chrono::milliseconds retry_most)
    : shape_(std::move(shape)), retry_least_(retry_least), retry_most_(retry_most) {}

void RowKeeper::Want(WantedRow row) { Change(std::move(row), false); }

void RowKeeper::WantFirst(WantedRow row) { Change(std::move(row), true); }

void RowKeeper::Change(WantedRow row, bool is_first) {
  if (!IsNamed(row.key.table)) {
    row.maps[kExternalIds][kClusterId] = shape_.cluster;
    if (!IsNamedAs(row)) row.maps[kExternalIds][kRowId] = row.key.name;
  }
  const RowKey key = row.key;
  Slot& slot = slots_[key];
  if (is_first && !slot.is_first && slot.uuids.empty()) {
    slot.is_first = true;
    if (slot.stage == Stage::kQueued) first_.push_back(key);
  }
  if (slot.wanted == row) return;
  if (slot.wanted) StopWaiting(*slot.wanted);
  slot.wanted = std::move(row);
  slot.dropped = false;
  slot.rewrites.reset();
  Queue(key, slot);
}

void RowKeeper::Drop(const RowKey& key) {
  Slot& slot = slots_[key];
  if (slot.dropped) return;
  if (slot.wanted) StopWaiting(*slot.wanted);
  slot.wanted.reset();
  slot.dropped = true;
  slot.rewrites.reset();
  Queue(key, slot);
}

void RowKeeper::DropUnknown(Choice choice) {
  drops_unknown_ = std::move(choice);
  for (auto& [key, slot] : slots_) {
    if (!slot.wanted && IsUnwanted(key, slot)) Queue(key, slot);
  }
}

std::set<RowKey> RowKeeper::KeysUnder(const RowKey& prefix) const {
  std::set<RowKey> keys;
  for (auto slot = slots_.lower_bound(prefix); slot != slots_.end(); ++slot) {
    const RowKey& key = slot->first;
    if (key.table != prefix.table || !key.name.starts_with(prefix.name)) break;
    keys.insert(key);
  }
  return keys;
}

void RowKeeper::StopWaiting(const WantedRow& row) {
  const auto stop = [&](const RowKey& awaited) {
    const auto waiting = waiting_.find(awaited);
    if (waiting == waiting_.end()) return;
    waiting->second.erase(row.key);
    if (waiting->second.empty()) waiting_.erase(waiting);
  };
  for (const Place& place : row.places) stop(place.row);
  for (const auto& [column, target] : row.links) stop(target);
}

bool RowKeeper::IsUnwanted(const RowKey& key, const Slot& slot) const {
  return slot.dropped || (drops_unknown_ && drops_unknown_(key));
}

bool RowKeeper::IsSettled(const RowKey& key) const {
  const auto slot = slots_.find(key);
  return slot == slots_.end() || slot->second.stage == Stage::kSettled;
}

std::optional<std::string> RowKeeper::FailureOf(const RowKey& key) const {
  const auto slot = slots_.find(key);
  if (slot == slots_.end() || slot->second.stage != Stage::kFailed) return std::nullopt;
  return slot->second.failure.why;
}

std::optional<std::string> RowKeeper::IdIn(const OvsdbReplica& replica, const RowKey& key,
                                           const std::string& name) const {
  const auto slot = slots_.find(key);
  if (slot == slots_.end() || slot->second.uuids.empty()) return std::nullopt;
  const OvsdbRow* row = replica.Find(key.table, *slot->second.uuids.begin());
  const std::string* value = row == nullptr ? nullptr : row->FindIn(kExternalIds, name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

/// A row that was changed, or is to change, is tried at once.
void RowKeeper::Queue(const RowKey& key, Slot& slot) {
  if (slot.stage == Stage::kQueued) return;
  if (slot.stage == Stage::kFailed) failed_.erase({slot.failure.until, key});
  slot.stage = Stage::kQueued;
  (slot.is_first ? first_ : queue_).push_back(key);
}

void RowKeeper::QueueUuid(const std::string& uuid) {
  const auto key = keys_.find(uuid);
  if (key == keys_.end()) return;
  Slot& slot = slots_[key->second];
  if (slot.stage != Stage::kFailed) Queue(key->second, slot);
}

std::optional<RowKey> RowKeeper::KeyOf(const std::string& table, const OvsdbRow& row) const {
  if (IsNamed(table)) {
    const std::string prefix = shape_.cluster + "/";
    const std::string name = row.Text("name");
    if (!name.starts_with(prefix)) return std::nullopt;
    return RowKey{table, name.substr(prefix.size())};
  }
  const std::string* cluster = row.FindIn(kExternalIds, kClusterId);
  if (cluster == nullptr || *cluster != shape_.cluster) return std::nullopt;
  const std::string* id = row.FindIn(kExternalIds, kRowId);
  const std::string name = id == nullptr ? row.Text("name") : *id;
  return name.empty() ? std::nullopt : std::optional(RowKey{table, name});
}

void RowKeeper::OnRow(const std::string& table, const std::string& uuid, const OvsdbRow* before,
                      const OvsdbRow* row) {
  const auto key = row == nullptr ? std::nullopt : KeyOf(table, *row);
  const auto known = keys_.find(uuid);
  if (known != keys_.end() && (!key || known->second != *key)) Forget(uuid);
  if (key) Index(*key, uuid);
  TrackReferences(table, uuid, before, row);
}

void RowKeeper::Index(const RowKey& key, const std::string& uuid) {
  keys_.emplace(uuid, key);
  Slot& slot = slots_[key];
  slot.uuids.insert(uuid);
  if (slot.stage != Stage::kFailed && (slot.wanted || IsUnwanted(key, slot))) Queue(key, slot);
  const auto waiting = waiting_.find(key);
  if (waiting == waiting_.end()) return;
  for (const RowKey& child : waiting->second) {
    const auto found = slots_.find(child);
    if (found != slots_.end()) Queue(child, found->second);
  }
  waiting_.erase(waiting);
}

void RowKeeper::Forget(const std::string& uuid) {
  const auto known = keys_.find(uuid);
  const RowKey key = known->second;
  keys_.erase(known);
  Slot& slot = slots_[key];
  slot.uuids.erase(uuid);
  Queue(key, slot);
}

void RowKeeper::TrackReferences(const std::string& table, const std::string& uuid,
                                const OvsdbRow* before, const OvsdbRow* row) {
  const auto columns = shape_.reference_columns.find(table);
  if (columns == shape_.reference_columns.end()) return;
  static const std::set<std::string> kNone;
  for (const std::string& column : columns->second) {
    const auto elements = [&](const OvsdbRow* of) -> const std::set<std::string>& {
      if (of == nullptr) return kNone;
      const auto set = of->sets.find(column);
      return set == of->sets.end() ? kNone : set->second;
    };
    const std::set<std::string>& were = elements(before);
    const std::set<std::string>& are = elements(row);
    const Holder holder = {.table = table, .uuid = uuid, .column = column};
    for (const std::string& child : were) {
      if (are.contains(child)) continue;
      const auto held = holders_.find(child);
      if (held == holders_.end()) continue;
      held->second.erase(holder);
      if (held->second.empty()) holders_.erase(held);
      QueueUuid(child);
    }
    for (const std::string& child : are) {
      if (were.contains(child)) continue;
      holders_[child].insert(holder);
      QueueUuid(child);
    }
  }
}

/// A row of first_ leaves an entry in queue_ if it was there before.
RowKey RowKeeper::NextQueued() {
  std::deque<RowKey>& queue = first_.empty() ? queue_ : first_;
  if (first_.empty() && together_ > 0) --together_;
  RowKey key = std::move(queue.front());
  queue.pop_front();
  return key;
}

RowKeeper::Batch RowKeeper::Compose(const OvsdbReplica& replica, const Limits& most, Time now) {
  while (!failed_.empty() && failed_.begin()->first <= now) {
    const RowKey key = failed_.begin()->second;
    Queue(key, slots_[key]);
  }
  Composer composer(*this, replica);
  bool is_whole = false;
  while (HasQueued()) {
    if (first_.empty() && together_ > 0) {
      // Rows that are together may be many, and those that go first do not wait for them.
      if (!is_whole && composer.size() > 0) break;
      is_whole = true;
    } else if (composer.size() >= most.rows || composer.bytes() >= most.bytes) {
      break;
    }
    const RowKey& next = first_.empty() ? queue_.front() : first_.front();
    const auto found = slots_.find(next);
    const bool is_stale = found == slots_.end() || found->second.stage != Stage::kQueued;
    const bool alone = !is_stale && found->second.alone;
    if (alone && composer.size() > 0) break;
    const RowKey key = NextQueued();
    if (is_stale) continue;
    Take(key, found->second, composer, now);
    if (alone && composer.size() > 0) break;
  }
  if (is_whole) together_ = 0;
  Batch batch = composer.Take();
  batch.is_whole = is_whole;
  return batch;
}

void RowKeeper::Take(const RowKey& key, Slot& slot, Composer& composer, Time now) {
  slot.stage = Stage::kUnderWay;
  if (slot.rewrites && now < slot.rewrites->look_at) {
    Fail(key, slot,
         {.why = "other programs change it again and again", .until = slot.rewrites->look_at});
    return composer.Tell(key);
  }
  composer.Look(key, slot);
  if (slot.stage == Stage::kSettled && !slot.wanted && slot.uuids.empty()) slots_.erase(key);
}

void RowKeeper::OnDone(const Batch& batch, Time now) {
  for (const RowKey& key : batch.keys) {
    Slot& slot = slots_[key];
    slot.alone = false;
    CountRewrite(slot, now);
    // The look that settles it.
    Queue(key, slot);
  }
}

void RowKeeper::CountRewrite(Slot& slot, Time now) {
  if (!slot.rewrites) return slot.backoff.reset();
  Rewrites& rewrites = *slot.rewrites;
  if (now - rewrites.last > kRewriteTime) rewrites.count = 0;
  rewrites.last = now;
  rewrites.look_at = {};
  if (++rewrites.count <= kMostRewrites) return slot.backoff.reset();
  if (!slot.backoff) slot.backoff = std::make_unique<Backoff>(retry_least_, retry_most_);
  rewrites.look_at = now + slot.backoff->Next();
}

void RowKeeper::Fail(const RowKey& key, Slot& slot, Failure failure) {
  failed_.emplace(failure.until, key);
  slot.stage = Stage::kFailed;
  slot.failure = std::move(failure);
}

std::vector<RowKey> RowKeeper::OnFailed(const Batch& batch, const std::string& why, Time now) {
  std::vector<RowKey> failed;
  for (const RowKey& key : batch.keys) {
    Slot& slot = slots_[key];
    if (slot.stage == Stage::kQueued) continue;  // It has changed meanwhile.
    if (batch.keys.size() > 1 && !slot.alone) {
      slot.alone = true;
      Queue(key, slot);
      continue;
    }
    if (!slot.backoff) slot.backoff = std::make_unique<Backoff>(retry_least_, retry_most_);
    Fail(
        key, slot,
        {.why = "the northbound database refuses it: " + why, .until = now + slot.backoff->Next()});
    failed.push_back(key);
  }
  return failed;
}

void RowKeeper::OnLost(const Batch& batch) {
  for (const RowKey& key : batch.keys) Queue(key, slots_[key]);
  if (batch.is_whole) KeepTogether();
}

std::vector<RowKey> RowKeeper::Unsettled() const {
  std::vector<RowKey> keys;
  for (const auto& [key, slot] : slots_) {
    if (slot.stage != Stage::kSettled && (slot.wanted || slot.dropped)) keys.push_back(key);
  }
  return keys;
}

std::optional<RowKeeper::Time> RowKeeper::NextTry() const {
  if (failed_.empty()) return std::nullopt;
  return failed_.begin()->first;
}

}  // namespace kuryr::controller::ovn
