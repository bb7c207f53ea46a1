#pragma once

#include <functional>
#include <map>
#include <string>

#include "watcher/watch_event.h"

namespace kuryr::watcher {

/// The known objects of a set and their versions. It turns a new list into events: objects that
/// appeared, changed or went away since the last event. For each object it keeps only names, uid
/// and version. Not thread-safe. (client-go's Reflector and DeltaFIFO.Replace)
class ObjectSet {
 public:
  using Emit = std::function<void(const WatchEvent&)>;

  /// `emit` gets the events. If the server sent no DELETED for an object, its event has only kind,
  /// namespace, name, uid and the last known version.
  explicit ObjectSet(Emit emit) : emit_(std::move(emit)) {}

  /// Takes an event of the watch. Emits ADDED for an unknown object and MODIFIED for a known one.
  /// Emits DELETED and ADDED for another uid under a known name.
  void Take(const WatchEvent& event);
  /// Knows the object of the event, as Take does, and emits nothing.
  void Know(const WatchEvent& event);

  /// Begins a list. Take each of its items, as ADDED, before EndList.
  void BeginList() { ++list_; }
  /// Keeps a known object, because the list has an unreadable item of its name.
  void Keep(const std::string& name_space, const std::string& name);
  /// Ends the list: objects that were not in it are gone.
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
