#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/fake_apiserver/http_message.h"
#include "tests/fake_apiserver/object_store.h"
#include "tests/fake_apiserver/resource.h"
#include "tests/fake_apiserver/selectors.h"

namespace kuryr::fake {

/// The number in a resourceVersion; nullopt when `text` is empty. Throws Refusal (500, as the API
/// server of the captures does).
[[nodiscard]] std::optional<uint64_t> ParseResourceVersion(const std::string& text);

/// A number in the query; `fallback` when it is absent. Throws Refusal (400).
[[nodiscard]] int64_t ParseNumber(const HttpRequest& request, const std::string& name,
                                  int64_t fallback);

/// One page of a list: where it starts, at which version, and how long it may get.
struct ListPage {
  std::optional<uint64_t> version;  // none: the present version
  std::string after;                // NAMESPACE/NAME of the last object before it
  size_t limit = SIZE_MAX;
};

/// Reads limit, continue, resourceVersion and resourceVersionMatch. Throws Refusal: 410 for a
/// version older than the store's compacted().
[[nodiscard]] ListPage ParseListPage(const HttpRequest& request, const ObjectStore& store);

/// The body of a list, such as a PodList.
[[nodiscard]] std::string ListBody(const Resource& resource, const ObjectStore::Snapshot& snapshot,
                                   const Selector& selector, const ListPage& page);

}  // namespace kuryr::fake
