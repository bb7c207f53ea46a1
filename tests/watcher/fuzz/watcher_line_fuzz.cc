#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "watcher/watch_event.h"

/// The first byte says how the rest is cut into reads.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = data[0] + size_t{1};
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  kuryr::watcher::LineSplitter lines(4096);
  while (!bytes.empty()) {
    lines.Feed(bytes.substr(0, piece), [](std::string_view line) {
      try {
        (void)kuryr::watcher::ParseWatchEvent(line);
      } catch (const kuryr::ParseError&) {
        // What every malformed line ends with.
      }
    });
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return 0;
}
