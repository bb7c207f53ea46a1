#include "watcher/object_set.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "watcher/api_error.h"

namespace kuryr::watcher {
namespace {

/// "PodList" → "Pod": items do not name their kind.
std::string ItemKind(const nlohmann::json& page) {
  std::string kind = StringAt(page, "kind");
  if (kind.ends_with("List")) kind.resize(kind.size() - 4);
  return kind;
}

}  // namespace

void ObjectSet::Take(const WatchEvent& event) {
  if (event.type == EventType::kAdded || event.type == EventType::kModified) {
    TakePresent(event);
    return;
  }
  if (event.type == EventType::kDeleted) known_.erase({event.name_space, event.name});
  emit_(event);
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
  known_.insert_or_assign(key, Known{event.kind, event.uid, event.resource_version, list_});
  emit_(event);
}

void ObjectSet::TakePage(nlohmann::json& page) {
  const std::string kind = ItemKind(page);
  const auto items = page.find("items");
  if (kind.empty() || items == page.end() || !items->is_array()) {
    throw ApiError(0, "Malformed", "API server answered with something else than a list");
  }
  const std::string version = StringAt(page, "apiVersion");
  for (nlohmann::json& item : *items) {
    if (!item.is_object()) continue;
    item.emplace("kind", kind);
    item.emplace("apiVersion", version);
    TakePresent(MakeEvent(EventType::kAdded, std::move(item)));
  }
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
  emit_(MakeEvent(EventType::kDeleted, {{"kind", known.kind},
                                        {"metadata",
                                         {{"namespace", key.first},
                                          {"name", key.second},
                                          {"uid", known.uid},
                                          {"resourceVersion", known.version}}}}));
}

}  // namespace kuryr::watcher
