#include "tests/fake_apiserver/object_store.h"

#include <algorithm>
#include <utility>

namespace kuryr::fake {
namespace {

constexpr size_t kMaxHistory = 10'000;

bool IsIn(const ObjectKey& key, const std::string& collection, const std::string& ns) {
  return key.collection == collection && (ns.empty() || key.ns == ns);
}

}  // namespace

ObjectStore::ObjectStore(uint64_t first_version, std::function<void()> on_change)
    : on_change_(std::move(on_change)),
      version_(first_version),
      compacted_(first_version),
      forgotten_(first_version) {}

std::vector<Object> ObjectStore::Apply(const ObjectKey& key, const Decision& decide) {
  std::vector<Object> written;
  {
    const MutexLock lock(mutex_);
    const auto present = objects_.find(key);
    for (Write& write : decide(present == objects_.end() ? nullptr : present->second)) {
      written.push_back(WriteLocked(key, std::move(write)));
    }
  }
  if (!written.empty()) on_change_();
  return written;
}

Object ObjectStore::WriteLocked(const ObjectKey& key, Write write) {
  ++version_;
  write.object["metadata"]["resourceVersion"] = std::to_string(version_);
  const Object object = std::make_shared<const nlohmann::json>(std::move(write.object));
  Object& slot = objects_[key];
  history_.push_back({.version = version_,
                      .key = key,
                      .before = std::exchange(slot, object),
                      .after = object,
                      .deleted = write.remove});
  if (write.remove) objects_.erase(key);
  if (history_.size() > kMaxHistory) {
    forgotten_ = history_.front().version;
    compacted_ = std::max(compacted_, forgotten_);
    history_.pop_front();
  }
  return object;
}

Object ObjectStore::Find(const ObjectKey& key) const {
  const MutexLock lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

ObjectStore::Snapshot ObjectStore::List(const std::string& collection, const std::string& ns,
                                        std::optional<uint64_t> at) const {
  const MutexLock lock(mutex_);
  std::map<ObjectKey, Object> objects;
  for (const auto& [key, object] : objects_) {
    if (IsIn(key, collection, ns)) objects.emplace(key, object);
  }
  const uint64_t version = at.value_or(version_);
  for (auto change = history_.rbegin(); change != history_.rend(); ++change) {
    if (change->version <= version) break;
    if (!IsIn(change->key, collection, ns)) continue;
    if (change->before) {
      objects[change->key] = change->before;
    } else {
      objects.erase(change->key);
    }
  }
  Snapshot snapshot{.version = version};
  for (const auto& [key, object] : objects) snapshot.objects.push_back(object);
  return snapshot;
}

std::optional<ObjectStore::Progress> ObjectStore::ChangesSince(uint64_t version,
                                                               const std::string& collection,
                                                               const std::string& ns) const {
  const MutexLock lock(mutex_);
  if (version < forgotten_) return std::nullopt;
  const auto is_older = [](uint64_t v, const Change& change) { return v < change.version; };
  Progress progress{.version = version_};
  for (auto change = std::upper_bound(history_.begin(), history_.end(), version, is_older);
       change != history_.end(); ++change) {
    if (IsIn(change->key, collection, ns)) progress.changes.push_back(*change);
  }
  return progress;
}

uint64_t ObjectStore::version() const {
  const MutexLock lock(mutex_);
  return version_;
}

uint64_t ObjectStore::compacted() const {
  const MutexLock lock(mutex_);
  return compacted_;
}

void ObjectStore::Compact() {
  const MutexLock lock(mutex_);
  compacted_ = version_;
}

}  // namespace kuryr::fake
