#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "watcher/event_parser.h"

namespace {

/// The event that a parser makes of a line, as text.
template <typename Parser>
std::string Told(std::string_view line, const Parser& parse) {
  try {
    const kuryr::watcher::WatchEvent event = parse(line);
    return std::to_string(static_cast<int>(event.type)) + event.kind + event.uid +
           event.resource_version + event.object->dump();
  } catch (const kuryr::ParseError&) {
    return "malformed";
  }
}

}  // namespace

/// Both parsers make the same event. The first byte is the size of the reads in which the rest
/// comes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = data[0] + size_t{1};
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  kuryr::watcher::LineSplitter lines(4096);
  kuryr::watcher::EventParser parser;
  while (!bytes.empty()) {
    lines.Feed(bytes.substr(0, piece), [&](std::string_view line) {
      if (Told(line, kuryr::watcher::ParseWatchEvent) !=
          Told(line, [&](std::string_view text) { return parser.Parse(text); })) {
        std::abort();
      }
    });
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return 0;
}
