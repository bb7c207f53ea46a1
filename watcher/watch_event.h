#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace kuryr::watcher {

/// meta/v1 WatchEvent types; whatever else a server may send one day is kUnknown.
enum class EventType { kAdded, kModified, kDeleted, kBookmark, kError, kUnknown };
inline constexpr size_t kEventTypes = 6;

/// One line of a watch: what happened to which object. Copies share the object.
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

/// Throws ParseError for a line that is no event. What managedFields hold does not matter.
[[nodiscard]] WatchEvent ParseWatchEvent(std::string_view line);

/// What the items of a list are, who need not say it.
struct ItemType {
  std::string kind;         ///< "Pod"
  std::string api_version;  ///< "v1"
};

/// The ADDED event of an item of a list. Throws ParseError for what is no object.
[[nodiscard]] WatchEvent ParseListItem(std::string_view item, const ItemType& type);
/// The same of an item that was read already.
[[nodiscard]] WatchEvent MakeListed(nlohmann::json item, const ItemType& type);

/// Cuts a byte stream into lines, whatever the chunks. Blank lines and CR before LF are dropped; so
/// is a line longer than `max_line`, which is counted. Not thread-safe.
class LineSplitter {
 public:
  explicit LineSplitter(size_t max_line = size_t{8} << 20) : max_line_(max_line) {}

  using LineSink = std::function<void(std::string_view line)>;
  void Feed(std::string_view bytes, const LineSink& sink);

  [[nodiscard]] size_t too_long() const noexcept { return too_long_; }
  /// Bytes of the line whose end has not come yet, also of one that is dropped.
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
