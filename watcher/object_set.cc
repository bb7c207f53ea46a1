#include "watcher/object_set.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace kuryr::watcher {

void ObjectSet::Take(const WatchEvent& event) {
  if (event.type == EventType::kAdded || event.type == EventType::kModified) {
    TakePresent(event);
    return;
  }
  if (event.type == EventType::kDeleted) known_.erase({event.name_space, event.name});
  emit_(event);
}

void ObjectSet::Know(const WatchEvent& event) {
  kind_ = event.kind;
  known_.insert_or_assign({event.name_space, event.name},
                          Known{event.uid, event.resource_version, list_});
}

void ObjectSet::TakePresent(WatchEvent event) {
  const Key key{event.name_space, event.name};
  const auto found = known_.find(key);
  const bool same = found != known_.end() && found->second.uid == event.uid;
  if (same && found->second.version == event.resource_version) {
    found->second.list = list_;
    return;
  }
  if (found != known_.end() && !same) EmitGone(key, found->second);
  event.type = same ? EventType::kModified : EventType::kAdded;
  Know(event);
  emit_(event);
}

void ObjectSet::Keep(const std::string& name_space, const std::string& name) {
  const auto found = known_.find({name_space, name});
  if (found != known_.end()) found->second.list = list_;
}

void ObjectSet::EndList() {
  for (auto entry = known_.begin(); entry != known_.end();) {
    if (entry->second.list == list_) {
      ++entry;
      continue;
    }
    const auto gone = known_.extract(entry++);
    EmitGone(gone.key(), gone.mapped());
  }
}

void ObjectSet::EmitGone(const Key& key, const Known& known) const {
  emit_(MakeEvent(EventType::kDeleted, {{"kind", kind_},
                                        {"metadata",
                                         {{"namespace", key.first},
                                          {"name", key.second},
                                          {"uid", known.uid},
                                          {"resourceVersion", known.version}}}}));
}

}  // namespace kuryr::watcher
