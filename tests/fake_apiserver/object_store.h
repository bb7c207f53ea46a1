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

/// An object as one version left it. Never changes.
using Object = std::shared_ptr<const nlohmann::json>;

/// Sorted as etcd sorts them, which is the order of lists.
struct ObjectKey {
  std::string collection;  // "pods", "kuryrports.openstack.org"
  std::string ns;
  std::string name;

  auto operator<=>(const ObjectKey&) const = default;
};

/// One step in the history of an object.
struct Change {
  uint64_t version = 0;
  ObjectKey key;
  Object before;  // null: created
  Object after;   // with `version` as its resourceVersion, even if it is deleted
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
    uint64_t version = 0;         // they are complete up to here
  };
  /// Decides from the present state (null: none) what to write. Runs under the store's lock.
  using Decision = std::function<std::vector<Write>(const Object& present)>;

  /// Nothing older than `first_version` is known. `on_change` runs after each change, without lock.
  ObjectStore(uint64_t first_version, std::function<void()> on_change);

  /// Decides and writes in one step; every write takes the next version as its resourceVersion.
  /// Answers the objects as written. What `decide` throws comes out, with nothing written.
  std::vector<Object> Apply(const ObjectKey& key, const Decision& decide) EXCLUDES(mutex_);

  [[nodiscard]] Object Find(const ObjectKey& key) const EXCLUDES(mutex_);
  /// A collection, in one namespace unless `ns` is empty, in the order of keys; as it was at
  /// version `at` if given, which must not be compacted().
  [[nodiscard]] Snapshot List(const std::string& collection, const std::string& ns,
                              std::optional<uint64_t> at = {}) const EXCLUDES(mutex_);
  /// Changes of a collection past `version`; nothing when they are forgotten.
  [[nodiscard]] std::optional<Progress> ChangesSince(uint64_t version,
                                                     const std::string& collection,
                                                     const std::string& ns) const EXCLUDES(mutex_);

  [[nodiscard]] uint64_t version() const EXCLUDES(mutex_);
  /// Watches and lists that start below this version are too old.
  [[nodiscard]] uint64_t compacted() const EXCLUDES(mutex_);
  /// Makes every version before the present one too old. Watches that are open miss nothing.
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
