#pragma once

#include <functional>
#include <map>
#include <string>

#include "watcher/watch_event.h"

namespace kuryr::watcher {

/// Which objects of a set are known, and in which version, so that a fresh list comes out as
/// events: what appeared, changed or went away while nobody watched. Of each object it keeps its
/// names, uid and version, no more. Not thread-safe. (client-go's Reflector and DeltaFIFO.Replace)
class ObjectSet {
 public:
  using Emit = std::function<void(const WatchEvent&)>;

  /// Where the events go. Of an object whose DELETED nobody sent, only kind, namespace, name, uid
  /// and the last version known are told.
  explicit ObjectSet(Emit emit) : emit_(std::move(emit)) {}

  /// An event of the watch. ADDED and MODIFIED come out as what they are to those who heard the
  /// events before; another uid under a known name as DELETED and ADDED.
  void Take(const WatchEvent& event);

  /// A list has begun: all of its items are taken between this and EndList, as ADDED.
  void BeginList() { ++list_; }
  /// The list has an item of this name that cannot be read: if it is known, it stays as it is.
  void Keep(const std::string& name_space, const std::string& name);
  /// Every item was taken: what was not among them is gone.
  void EndList();

  [[nodiscard]] size_t size() const noexcept { return known_.size(); }

 private:
  struct Known {
    std::string uid;
    std::string version;
    unsigned list;  ///< the newest that it was seen in or after
  };
  using Key = std::pair<std::string, std::string>;  ///< namespace, name

  void TakePresent(WatchEvent event);
  void EmitGone(const Key& key, const Known& known) const;

  const Emit emit_;
  std::string kind_;  ///< of all objects
  std::map<Key, Known> known_;
  unsigned list_ = 0;
};

}  // namespace kuryr::watcher
