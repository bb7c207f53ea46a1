#pragma once

#include <functional>
#include <string>

#include "watcher/api_client.h"
#include "watcher/watch_event.h"

namespace kuryr::watcher {

/// The receivers of a list: each object is an ADDED event.
struct ListSinks {
  std::function<void(WatchEvent event)> item;
  /// Called with the reason for an item that cannot be read.
  std::function<void(const std::string& problem)> bad_item;
};

/// Reads the present state of the list at `path`, which may have a query. It reads in pages and
/// keeps one at a time. Throws what ApiClient throws; ApiError kGone if the API server forgets the
/// state meanwhile.
void ForEachListed(ApiClient& client, const std::string& path, const ListSinks& sinks);

}  // namespace kuryr::watcher
