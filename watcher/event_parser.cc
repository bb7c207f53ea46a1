#include "watcher/event_parser.h"

#include <simdjson.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace kuryr::watcher {
namespace {

using nlohmann::json;
using simdjson::dom::element;
using simdjson::dom::element_type;

/// Longer lines are rare; the buffers need not hold them.
constexpr size_t kMaxLine = size_t{256} << 10;
constexpr size_t kMaxDepth = 64;

/// Thrown for input that ParseJson refuses and simdjson accepts.
struct Refused {};

json Build(element from);

json::object_t BuildObject(simdjson::dom::object from, std::string_view without = {}) {
  json::object_t object;
  for (const auto [key, value] : from) {
    if (!without.empty() && key == without) continue;
    const size_t before = object.size();
    object.emplace_hint(object.end(), std::string(key), Build(value));
    if (object.size() == before) throw Refused();
  }
  return object;
}

json::array_t BuildArray(simdjson::dom::array from) {
  json::array_t array;
  array.reserve(from.size());
  for (const element value : from) array.push_back(Build(value));
  return array;
}

json Build(element from) {
  switch (from.type()) {
    case element_type::OBJECT:
      return BuildObject(from.get_object());
    case element_type::ARRAY:
      return BuildArray(from.get_array());
    case element_type::STRING:
      return std::string(std::string_view(from));
    case element_type::INT64:
      return int64_t{from} < 0 ? json(int64_t{from}) : json(static_cast<uint64_t>(int64_t{from}));
    case element_type::UINT64:
      return uint64_t{from};
    case element_type::DOUBLE:
      return double{from};
    case element_type::BOOL:
      return bool{from};
    case element_type::NULL_VALUE:
      return nullptr;
    default:  // a larger number, in simdjson 4
      throw Refused();
  }
}

/// The watched object, without metadata.managedFields.
json BuildWatched(simdjson::dom::object from) {
  json::object_t object;
  for (const auto [key, value] : from) {
    const bool metadata = key == "metadata" && value.is_object();
    json built = metadata ? json(BuildObject(value.get_object(), "managedFields")) : Build(value);
    if (!object.emplace(std::string(key), std::move(built)).second) throw Refused();
  }
  return object;
}

/// Parses an object; empty for other values.
std::optional<simdjson::dom::object> FindObject(simdjson::dom::parser& parser, std::string& buffer,
                                                std::string_view text) {
  buffer = text;
  buffer.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  element root;
  simdjson::dom::object fields;
  if (parser.parse(buffer.data(), text.size(), false).get(root) != simdjson::SUCCESS ||
      root.get_object().get(fields) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return fields;
}

/// Makes an event; empty if ParseWatchEvent has to judge the line.
std::optional<WatchEvent> MakeWatched(simdjson::dom::object fields) {
  std::string_view type;
  simdjson::dom::object object;
  if (fields.size() != 2 || fields["type"].get_string().get(type) != simdjson::SUCCESS ||
      fields["object"].get_object().get(object) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return MakeEvent(EventTypeNamed(type), BuildWatched(object));
}

}  // namespace

struct EventParser::Buffers {
  simdjson::dom::parser parser{kMaxLine};
  std::string padded;  ///< the line, where simdjson may read beyond its end
};

EventParser::EventParser() : buffers_(std::make_unique<Buffers>()) {
  if (buffers_->parser.allocate(size_t{16} << 10, kMaxDepth) != simdjson::SUCCESS) {
    throw std::bad_alloc();
  }
}

EventParser::~EventParser() = default;

WatchEvent EventParser::Parse(std::string_view line) {
  if (line.size() <= kMaxLine) {
    try {
      const auto fields = FindObject(buffers_->parser, buffers_->padded, line);
      if (auto event = fields ? MakeWatched(*fields) : std::nullopt) return std::move(*event);
    } catch (const Refused&) {  // NOLINT(bugprone-empty-catch): told with its path below
    }
  }
  return ParseWatchEvent(line);
}

WatchEvent EventParser::ParseItem(std::string_view item, const ItemType& type) {
  if (item.size() <= kMaxLine) {
    try {
      if (const auto object = FindObject(buffers_->parser, buffers_->padded, item))
        return MakeListed(BuildWatched(*object), type);
    } catch (const Refused&) {  // NOLINT(bugprone-empty-catch): told with its path below
    }
  }
  return ParseListItem(item, type);
}

}  // namespace kuryr::watcher
