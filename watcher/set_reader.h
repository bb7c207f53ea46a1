#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "watcher/api_client.h"
#include "watcher/event_parser.h"
#include "watcher/list_pages.h"
#include "watcher/object_set.h"
#include "watcher/watch_metrics.h"

namespace kuryr::watcher {

/// Reads all objects of a path into a set, in the way that costs the API server least. Logs, counts
/// and skips an object that is unreadable; a known one of its name stays known. Every read returns
/// the version from which a watch can go on. It throws what ApiClient throws; the set then keeps
/// what was known. Not thread-safe. (Kubernetes API concepts: resource versions, streaming lists)
class SetReader {
 public:
  /// The objects that the reader uses, all borrowed.
  struct Tools {
    ApiClient& client;
    EventParser& parser;
    ObjectSet& set;
    SharedMetrics& metrics;
  };

  /// `path` may have a query. `patience` is the longest silence in a streamed list.
  SetReader(std::string path, std::chrono::seconds patience, Tools tools)
      : path_(std::move(path)), patience_(patience), tools_(tools) {}

  /// The state that the server has at hand, or at least `version`, in one answer.
  std::string AtLeast(const std::string& version);
  /// The present state. Up to 5,001 objects come in one answer. More are streamed, or come in pages
  /// where the server streams no lists.
  std::string Present();
  /// As Present, in pages.
  std::string Pages();

  /// The first page of the present state: of one object, or of 500 where a server may have to look
  /// at all objects to find one.
  [[nodiscard]] ListPage First();
  /// Whether all objects come in one answer. False where `first` does not say how many there are.
  [[nodiscard]] static bool IsFew(const ListPage& first);
  /// The present state of a set that is small, of which `first` is the first page.
  std::string Few(const ListPage& first);

  /// The resourceVersion that asks for the server's cached state.
  static constexpr const char* kAtHand = "0";

 private:
  std::string From(const std::string& version, unsigned page_size);
  std::string TakePages(const ListPage& first, const std::string& limit);
  [[nodiscard]] std::optional<std::string> Streamed();
  [[nodiscard]] bool TakeLine(std::string_view line, std::optional<std::string>& version);
  void TakeItem(std::string_view item, const ItemType& type);
  void Skip(std::string_view item, const std::string& why);

  const std::string path_;
  const std::chrono::seconds patience_;
  const Tools tools_;
  unsigned skipped_ = 0;  ///< objects of this read
};

}  // namespace kuryr::watcher
