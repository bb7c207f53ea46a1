#pragma once

#include <functional>
#include <string>

#include "watcher/api_client.h"
#include "watcher/watch_event.h"

namespace kuryr::watcher {

/// Of the objects of a list one by one: an ADDED event each.
struct ListSinks {
  std::function<void(WatchEvent event)> item;
  /// Of one that cannot be read: why.
  std::function<void(const std::string& problem)> bad_item;
};

/// The present state of the list at `path`, which may carry a query: read in pages, of which one at
/// a time is kept. Throws what ApiClient does; ApiError kGone where the API server forgets the
/// state meanwhile.
void ForEachListed(ApiClient& client, const std::string& path, const ListSinks& sinks);

}  // namespace kuryr::watcher
