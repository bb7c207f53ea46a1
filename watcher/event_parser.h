#pragma once

#include <memory>
#include <string_view>

#include "watcher/watch_event.h"

namespace kuryr::watcher {

/// Reads the lines of a watch as ParseWatchEvent does, and the items of a list, three times as
/// fast. Most of a node's events are the kubelet's, and most of each is managedFields. Keeps its
/// buffers from line to line. Not thread-safe.
class EventParser {
 public:
  EventParser();
  EventParser(const EventParser&) = delete;
  EventParser& operator=(const EventParser&) = delete;
  ~EventParser();

  /// Throws ParseError for a line that is no event.
  [[nodiscard]] WatchEvent Parse(std::string_view line);
  /// As ParseListItem.
  [[nodiscard]] WatchEvent ParseItem(std::string_view item, const ItemType& type);

 private:
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace kuryr::watcher
