#pragma once

#include <string>
#include <string_view>

#include "watcher/api_client.h"
#include "watcher/list_pages.h"
#include "watcher/watch_stream.h"

namespace kuryr::watcher {

/// The path's state, as a caller of Watcher reads it.
inline Beginning ReadOf(const ApiConfig& config, const std::string& path) {
  const ListPage page(ApiClient(config).GetText(path));
  Beginning read = {.version = page.version(), .objects = {}};
  page.ForEachItem([&](std::string_view item) {
    read.objects.push_back(ParseListItem(item, page.item_type()));
  });
  return read;
}

}  // namespace kuryr::watcher
