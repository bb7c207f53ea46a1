#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tests/fake_apiserver/connection.h"
#include "tests/fake_apiserver/event_stream.h"
#include "tests/fake_apiserver/object_store.h"
#include "tests/fake_apiserver/resource.h"
#include "tests/fake_apiserver/selectors.h"
#include "tests/fake_apiserver/watch_hub.h"

namespace kuryr::fake {

/// The server's clock. All that the protocol counts in seconds (timeoutSeconds, bookmarks, the wait
/// of a list for a future version) counts in `second`s; tests make them short.
struct Pace {
  std::chrono::milliseconds second{1000};
  int bookmark_interval = 60;
  int bookmark_before_end = 2;
  int future_list_wait = 3;
};

/// A client's request for a watch.
struct WatchRequest {
  const Resource* resource = nullptr;
  std::string ns;  // empty: all
  Selector selector;
  std::optional<uint64_t> from;  // none: the present state comes first, as ADDED
  bool bookmarks = false;
  bool streams_list = false;  // a bookmark says that the present state has come
  int timeout_seconds = 1800;
};

/// Serves one watch on its connection's thread.
class Watch {
 public:
  Watch(EventStream& stream, ObjectStore& store, WatchRequest request, const Pace& pace)
      : stream_(stream), store_(store), request_(std::move(request)), pace_(pace) {}

  /// Returns when the watch is over, for whatever reason.
  void Run(Connection& connection, WatchHub& hub, bool keep_alive);

 private:
  using Clock = Connection::Clock;

  // Each returns whether the stream goes on.
  [[nodiscard]] bool SendStart();
  [[nodiscard]] bool SendChanges(uint64_t up_to = UINT64_MAX);
  [[nodiscard]] bool SendChange(const Change& change);
  [[nodiscard]] bool SendExpired(uint64_t oldest);
  [[nodiscard]] bool SendBookmark();
  [[nodiscard]] bool SendEndOfList();
  /// Sends the bookmark, or the end, whose time has come.
  [[nodiscard]] bool SendDue();
  [[nodiscard]] bool Obey(const WatchCommand& command);
  [[nodiscard]] bool TakeTurn(OpenWatch& watch);

  void PlanBookmark(Clock::time_point last);

  EventStream& stream_;
  ObjectStore& store_;
  const WatchRequest request_;
  const Pace pace_;
  uint64_t version_ = 0;  // the events sent are complete up to this version
  Clock::time_point end_;
  Clock::time_point bookmark_ = Clock::time_point::max();
};

}  // namespace kuryr::fake
