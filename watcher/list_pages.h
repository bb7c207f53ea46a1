#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "watcher/api_client.h"
#include "watcher/watch_event.h"

namespace kuryr::watcher {

/// Adds one part, such as "limit=500", to the query of a request's path.
[[nodiscard]] std::string WithQuery(const std::string& path, const std::string& query);

/// Escapes a value in a query (RFC 3986); continue tokens are opaque.
[[nodiscard]] std::string Escaped(const std::string& text);

/// One page of a list of any kind (PodList) as the API server sent it. Its items stay text, so only
/// one at a time is a document, and a bad item does not spoil the others.
class ListPage {
 public:
  /// Throws ApiError if `body` is no list.
  explicit ListPage(std::string body);
  ListPage(const ListPage&) = delete;
  ListPage& operator=(const ListPage&) = delete;

  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  /// The token of the next page; empty for the last page.
  [[nodiscard]] const std::string& continue_token() const noexcept { return continue_token_; }
  /// The number of objects in the pages after this one; nullopt if the server does not say.
  [[nodiscard]] std::optional<uint64_t> remaining() const noexcept { return remaining_; }
  [[nodiscard]] const ItemType& item_type() const noexcept { return item_type_; }

  void ForEachItem(const std::function<void(std::string_view item)>& sink) const;

 private:
  const std::string body_;
  std::string_view items_;  ///< in body_
  std::string version_;
  std::string continue_token_;
  std::optional<uint64_t> remaining_ = 0;
  ItemType item_type_;
};

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
