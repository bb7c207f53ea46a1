#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "watcher/watch_event.h"

namespace kuryr::watcher {

/// Takes events. The event's source logs and counts a handler's exceptions, and continues.
class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void Handle(const WatchEvent& event) = 0;
};

/// Returns the key by which an event is dispatched; std::nullopt matches no handler. A plain
/// function, so that two registrations with the same one share its call.
using KeyFn = std::optional<std::string> (*)(const WatchEvent& event);

/// The kind of the event's object ("Pod").
std::optional<std::string> ObjectKind(const WatchEvent& event);

/// The registry key_fn → key → handlers: an event goes once to every handler registered under
/// key_fn(event), in the order of registration. A handler may register more from inside its Handle;
/// they get the next event. Thread-safe; handlers are borrowed and outlive the dispatcher.
/// (kuryr_kubernetes/handlers/dispatch.py)
class Dispatcher : public EventHandler {
 public:
  void Register(KeyFn key_fn, const std::string& key, EventHandler& handler) EXCLUDES(mutex_);
  void Handle(const WatchEvent& event) override EXCLUDES(mutex_);

 private:
  [[nodiscard]] std::vector<EventHandler*> HandlersOf(const WatchEvent& event) EXCLUDES(mutex_);

  struct Registration {
    KeyFn key_fn;
    std::map<std::string, std::vector<EventHandler*>> handlers;
  };
  Mutex mutex_;
  std::vector<Registration> registry_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::watcher
