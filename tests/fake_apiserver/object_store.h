#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"

namespace kuryr::fake {

/// One version of an object. Never changes.
using Object = std::shared_ptr<const nlohmann::json>;

/// The key of an object. Keys sort as in etcd, which gives the order of lists.
struct ObjectKey {
  std::string collection;  // "pods", "kuryrports.openstack.org"
  std::string ns;
  std::string name;

  auto operator<=>(const ObjectKey&) const = default;
};

/// One change of an object.
struct Change {
  uint64_t version = 0;
  ObjectKey key;
  Object before;  // null: the object was created
  Object after;   // has `version` as its resourceVersion, even if it is deleted
  bool deleted = false;
};

/// All objects and their history, under one counter of versions as in etcd. Thread-safe.
class ObjectStore {
 public:
  struct Write {
    nlohmann::json object;
    bool remove = false;
  };
  struct Snapshot {
    std::vector<Object> objects;
    uint64_t version = 0;
  };
  struct Progress {
    std::vector<Change> changes;  // oldest first
    uint64_t version = 0;         // the changes are complete up to this version
  };
  /// Decides what to write from the present state (null: no object). Runs under the store's lock.
  using Decision = std::function<std::vector<Write>(const Object& present)>;

  /// The history begins at `first_version`. `on_change` runs after each change, without lock.
  ObjectStore(uint64_t first_version, std::function<void()> on_change);

  /// Decides and writes in one step; every write takes the next version as its resourceVersion.
  /// Returns the objects as written. An exception of `decide` passes through, and nothing is
  /// written.
  std::vector<Object> Apply(const ObjectKey& key, const Decision& decide) EXCLUDES(mutex_);

  [[nodiscard]] Object Find(const ObjectKey& key) const EXCLUDES(mutex_);
  /// The objects of a collection, in one namespace unless `ns` is empty, in the order of keys. With
  /// `at`, the state at that version, which must not be compacted().
  [[nodiscard]] Snapshot List(const std::string& collection, const std::string& ns,
                              std::optional<uint64_t> at = {}) const EXCLUDES(mutex_);
  /// The changes of a collection after `version`; nullopt if they are forgotten.
  [[nodiscard]] std::optional<Progress> ChangesSince(uint64_t version,
                                                     const std::string& collection,
                                                     const std::string& ns) const EXCLUDES(mutex_);

  [[nodiscard]] uint64_t version() const EXCLUDES(mutex_);
  /// Watches and lists that start below this version are too old.
  [[nodiscard]] uint64_t compacted() const EXCLUDES(mutex_);
  /// Makes every version before the present one too old. Open watches miss no change.
  void Compact() EXCLUDES(mutex_);

 private:
  Object WriteLocked(const ObjectKey& key, Write write) REQUIRES(mutex_);

  const std::function<void()> on_change_;
  mutable Mutex mutex_;
  std::map<ObjectKey, Object> objects_ GUARDED_BY(mutex_);
  std::deque<Change> history_ GUARDED_BY(mutex_);
  uint64_t version_ GUARDED_BY(mutex_);
  uint64_t compacted_ GUARDED_BY(mutex_);
  uint64_t forgotten_ GUARDED_BY(mutex_);  // history_ begins after this version
};

}  // namespace kuryr::fake
