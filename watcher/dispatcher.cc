#include "watcher/dispatcher.h"

#include <algorithm>
#include <exception>

namespace kuryr::watcher {

std::optional<std::string> ObjectKind(const WatchEvent& event) {
  return event.kind.empty() ? std::nullopt : std::optional(event.kind);
}

void Dispatcher::Register(KeyFn key_fn, const std::string& key, EventHandler& handler) {
  const MutexLock lock(mutex_);
  auto found =
      std::find_if(registry_.begin(), registry_.end(),
                   [&](const Registration& registration) { return registration.key_fn == key_fn; });
  if (found == registry_.end()) found = registry_.insert(registry_.end(), Registration{key_fn, {}});
  found->handlers[key].push_back(&handler);
}

std::vector<EventHandler*> Dispatcher::HandlersOf(const WatchEvent& event) {
  std::vector<EventHandler*> handlers;
  const MutexLock lock(mutex_);
  for (const Registration& registration : registry_) {
    const auto key = registration.key_fn(event);
    const auto found = key ? registration.handlers.find(*key) : registration.handlers.end();
    if (found == registration.handlers.end()) continue;
    for (EventHandler* handler : found->second) {
      if (std::find(handlers.begin(), handlers.end(), handler) == handlers.end())
        handlers.push_back(handler);
    }
  }
  return handlers;
}

void Dispatcher::Handle(const WatchEvent& event) {
  std::exception_ptr first;
  for (EventHandler* handler : HandlersOf(event)) {
    try {
      handler->Handle(event);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace kuryr::watcher
