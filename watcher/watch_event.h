#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "watcher/api_error.h"

namespace kuryr::watcher {

/// meta/v1 WatchEvent types; any other type is kUnknown.
enum class EventType { kAdded, kModified, kDeleted, kBookmark, kError, kUnknown };
inline constexpr size_t kEventTypes = 6;

/// One line of a watch: the type of change and the object. Copies share the object.
struct WatchEvent {
  EventType type = EventType::kUnknown;
  std::string kind;  ///< "Pod"; "Status" for kError
  std::string name_space;
  std::string name;
  std::string uid;
  std::string resource_version;
  std::shared_ptr<const nlohmann::json> object;  ///< without metadata.managedFields; never null
};

/// "ADDED" and so on; kUnknown for any other name.
[[nodiscard]] EventType EventTypeNamed(std::string_view name);

/// The event of `object`, whose metadata.managedFields is dropped.
[[nodiscard]] WatchEvent MakeEvent(EventType type, nlohmann::json object);

/// Parses a line of a watch. Throws ParseError for a line that is no event. Ignores the content of
/// managedFields.
[[nodiscard]] WatchEvent ParseWatchEvent(std::string_view line);

/// The type of a list's items, which the items themselves may omit.
struct ItemType {
  std::string kind;         ///< "Pod"
  std::string api_version;  ///< "v1"
};

/// What an ERROR event says.
[[nodiscard]] ApiError ErrorOf(const WatchEvent& event);

/// The ADDED event of an item of a list. Throws ParseError if the item is no object.
[[nodiscard]] WatchEvent ParseListItem(std::string_view item, const ItemType& type);
/// The ADDED event of a parsed item of a list.
[[nodiscard]] WatchEvent MakeListed(nlohmann::json item, const ItemType& type);

/// Cuts a byte stream into lines, however the chunks fall. Drops blank lines and CR before LF.
/// Drops and counts a line longer than `max_line`. Not thread-safe.
class LineSplitter {
 public:
  explicit LineSplitter(size_t max_line = size_t{8} << 20) : max_line_(max_line) {}

  using LineSink = std::function<void(std::string_view line)>;
  void Feed(std::string_view bytes, const LineSink& sink);

  [[nodiscard]] size_t too_long() const noexcept { return too_long_; }
  /// Bytes of the line whose end has not come yet, also of a line that will be dropped.
  [[nodiscard]] size_t pending() const noexcept { return pending_; }

 private:
  const size_t max_line_;
  std::string partial_;
  std::string line_;
  bool skipping_ = false;
  size_t too_long_ = 0;
  size_t pending_ = 0;
};

}  // namespace kuryr::watcher
