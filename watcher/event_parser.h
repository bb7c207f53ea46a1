#pragma once

#include <memory>
#include <string_view>

#include "watcher/watch_event.h"

namespace kuryr::watcher {

/// Reads the lines of a watch and the items of a list, three times as fast as ParseWatchEvent. It
/// skips managedFields: most of a node's events are the kubelet's, and consist mostly of them.
/// Keeps its buffers from line to line. Not thread-safe.
class EventParser {
 public:
  EventParser();
  EventParser(const EventParser&) = delete;
  EventParser& operator=(const EventParser&) = delete;
  ~EventParser();

  /// Throws ParseError for a line that is no event.
  [[nodiscard]] WatchEvent Parse(std::string_view line);
  /// Parses an item of a list, as ParseListItem does.
  [[nodiscard]] WatchEvent ParseItem(std::string_view item, const ItemType& type);

 private:
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace kuryr::watcher
