#include "watcher/watch_event.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "watcher/json_text.h"

namespace kuryr::watcher {
namespace {

constexpr size_t kMaxEvent = size_t{8} << 20;
constexpr size_t kUsualLine = size_t{256} << 10;

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
  nlohmann::json parsed = ParseJson(WithNullAt(line, {"object", "metadata", "managedFields"}),
                                    {.max_bytes = kMaxEvent});
  if (!parsed.is_object() || !parsed.contains("object") || !parsed["object"].is_object()) {
    throw ParseError("$.object",
                     "missing; expected a watch event {\"type\": ..., \"object\": {...}}");
  }
  return MakeEvent(EventTypeNamed(StringAt(parsed, "type")), std::move(parsed["object"]));
}

WatchEvent ParseListItem(std::string_view item, const ItemType& type) {
  nlohmann::json parsed =
      ParseJson(WithNullAt(item, {"metadata", "managedFields"}), {.max_bytes = kMaxEvent});
  if (!parsed.is_object()) throw ParseError("$", "no object");
  return MakeListed(std::move(parsed), type);
}

WatchEvent MakeListed(nlohmann::json item, const ItemType& type) {
  item.emplace("kind", type.kind);
  item.emplace("apiVersion", type.api_version);
  return MakeEvent(EventType::kAdded, std::move(item));
}

ApiError ErrorOf(const WatchEvent& event) {
  const json& status = *event.object;
  const auto code = status.find("code");
  return {code != status.end() && code->is_number_integer() ? code->get<int>() : 0,
          StringAt(status, "reason"),
          "API server ended the watch: " + Printable(StringAt(status, "message"), 300)};
}

void LineSplitter::Feed(std::string_view bytes, const LineSink& sink) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    std::string_view line = bytes.substr(0, end);
    if (!skipping_ && partial_.size() + line.size() > max_line_) {
      skipping_ = true;
      ++too_long_;
      partial_ = std::string();
    }
    const bool whole = end != std::string_view::npos;
    pending_ = whole ? 0 : pending_ + line.size();
    if (!skipping_ && (!whole || !partial_.empty())) partial_ += line;
    if (!whole) return;
    bytes.remove_prefix(end + 1);
    if (std::exchange(skipping_, false)) continue;

    if (!partial_.empty()) {
      // Swapping, unlike moving, lets both keep their memory, unless the line was unusually long.
      line_.swap(partial_);
      if (partial_.capacity() > kUsualLine) partial_ = std::string();
      partial_.clear();
      line = line_;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) sink(line);
  }
}

}  // namespace kuryr::watcher
