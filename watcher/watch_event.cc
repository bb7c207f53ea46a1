#include "watcher/watch_event.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace kuryr::watcher {
namespace {

constexpr size_t kMaxEvent = size_t{8} << 20;

}  // namespace

EventType EventTypeNamed(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, EventType>, 5> kTypes = {{
      {"ADDED", EventType::kAdded},
      {"MODIFIED", EventType::kModified},
      {"DELETED", EventType::kDeleted},
      {"BOOKMARK", EventType::kBookmark},
      {"ERROR", EventType::kError},
  }};
  for (const auto& [text, type] : kTypes) {
    if (text == name) return type;
  }
  return EventType::kUnknown;
}

WatchEvent MakeEvent(EventType type, nlohmann::json object) {
  WatchEvent event;
  event.type = type;
  event.kind = StringAt(object, "kind");
  const auto metadata = object.find("metadata");
  if (metadata != object.end() && metadata->is_object()) {
    metadata->erase("managedFields");
    event.name_space = StringAt(*metadata, "namespace");
    event.name = StringAt(*metadata, "name");
    event.uid = StringAt(*metadata, "uid");
    event.resource_version = StringAt(*metadata, "resourceVersion");
  }
  event.object = std::make_shared<const nlohmann::json>(std::move(object));
  return event;
}

WatchEvent ParseWatchEvent(std::string_view line) {
  nlohmann::json parsed = ParseJson(line, {.max_bytes = kMaxEvent});
  if (!parsed.is_object() || !parsed.contains("object") || !parsed["object"].is_object()) {
    throw ParseError("$.object",
                     "missing; expected a watch event {\"type\": ..., \"object\": {...}}");
  }
  return MakeEvent(EventTypeNamed(StringAt(parsed, "type")), std::move(parsed["object"]));
}

void LineSplitter::Feed(std::string_view bytes, const LineSink& sink) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!skipping_ && partial_.size() + piece.size() > max_line_) {
      skipping_ = true;
      ++too_long_;
      partial_ = std::string();
    }
    if (!skipping_) partial_ += piece;
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    if (std::exchange(skipping_, false)) continue;

    const std::string line = std::exchange(partial_, std::string());
    std::string_view text = line;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (!text.empty()) sink(text);
  }
}

}  // namespace kuryr::watcher
