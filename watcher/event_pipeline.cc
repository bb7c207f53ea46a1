#include "watcher/event_pipeline.h"

namespace kuryr::watcher {

void EventPipeline::Register(EventConsumer& consumer) {
  EventHandler* handler = &consumer;
  if (auto wrapper = Wrap(consumer)) {
    handler = wrapper.get();
    wrappers_.push_back(std::move(wrapper));
  }
  for (const auto& [key_fn, key] : consumer.Consumes()) dispatcher_.Register(key_fn, key, *handler);
}

std::unique_ptr<EventHandler> EventPipeline::Wrap(EventConsumer& /*consumer*/) { return nullptr; }

std::vector<std::pair<KeyFn, std::string>> ResourceEventHandler::Consumes() const {
  return {{ObjectKind, object_kind_}};
}

void ResourceEventHandler::Handle(const WatchEvent& event) {
  switch (event.type) {
    case EventType::kAdded:
      OnAdded(event);
      OnPresent(event);
      return;
    case EventType::kModified:
      OnModified(event);
      OnPresent(event);
      return;
    case EventType::kDeleted:
      OnDeleted(event);
      return;
    case EventType::kBookmark:
    case EventType::kError:
    case EventType::kUnknown:
      return;
  }
}

}  // namespace kuryr::watcher
