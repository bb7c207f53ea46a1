#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "watcher/api_client.h"
#include "watcher/dispatcher.h"
#include "watcher/event_parser.h"
#include "watcher/object_set.h"
#include "watcher/set_reader.h"
#include "watcher/watch_metrics.h"

namespace kuryr::watcher {

enum class WatchMode {
  /// Watches without resourceVersion: at every connection the present state comes first, as ADDED.
  /// For one object, or if repeated events do no harm. A server may refuse such a watch while its
  /// cache lags. Then, or with WatchOptions::begin, it watches from the version of its own read,
  /// and reads again whenever that fails.
  kPresentState,
  /// Lists in pages, then watches from the list's resourceVersion, with bookmarks. Lists again only
  /// when that version is gone, and emits the difference. (client-go's ListAndWatch)
  kSet,
  /// As kSet, for a resource that the server need not have: 404 means that there are no objects,
  /// and is no failure.
  kOptionalSet,
};

/// What a list has read of a watch's path.
struct Beginning {
  std::string version;
  std::vector<WatchEvent> objects;
};

/// The options of a watch beside its mode.
struct WatchOptions {
  /// kSet, kOptionalSet: the first list, and one after a silent watch, are of the present state,
  /// and not of the server's cache, which may be older than events that this process has seen
  /// elsewhere.
  bool fresh = false;
  /// kPresentState: the caller has read the present state, and handled it. The watch begins there.
  std::optional<Beginning> begin;
  /// Called in the watch's thread after each complete list, when its events have been handled.
  std::function<void()> on_listed;
  /// kOptionalSet: treats 403 for longer than ApiConfig::refusal_grace, before the first list, as
  /// absence. Called in the watch's thread when that begins. If empty, 403 is a failure.
  std::function<void(const std::exception& refusal)> on_forbidden;
};

/// One watch over many connections: it chooses the next request, and passes lines to the handler.
/// It logs, counts and skips a bad line or object, and an event whose handler throws. An endless
/// line, or many lines that are no events, end the watch. Not thread-safe.
class WatchStream {
 public:
  /// The objects that the stream uses, all borrowed.
  struct Tools {
    ApiClient& client;
    EventHandler& handler;
    SharedMetrics& metrics;
  };

  /// `path` is without watch=true.
  WatchStream(std::string path, WatchMode mode, WatchOptions options,
              std::chrono::seconds read_timeout, Tools tools);

  /// Lists if necessary, and watches until the server ends the watch in order. Throws what
  /// ApiClient throws, and ApiError for an ERROR event in the stream.
  void Once();
  /// Brings the known set at least to the server's state at the call. It takes the cheapest way:
  /// one list of a small set, the continued watch, or a whole list. Throws as Once does.
  void CatchUp();
  /// Whether an event or a bookmark came since the last call.
  [[nodiscard]] bool TookSomething() { return std::exchange(took_something_, false); }
  /// Whether the next list is of the present state, because other lists failed. For it the server
  /// reads all objects from its store, also those that the path does not select.
  [[nodiscard]] bool falls_back() const noexcept { return falls_back_; }
  /// Whether the last two or more watches only reported that their version is gone: a list does not
  /// repair that.
  [[nodiscard]] bool ExpiredAgain() const noexcept { return expired_ > 1; }

  /// True once refusals have lasted long enough to treat the resource as absent. False for modes in
  /// which it must exist.
  [[nodiscard]] bool TakeForbidden(const std::exception& refusal);
  /// kOptionalSet: whether the server has no such resource.
  [[nodiscard]] bool absent() const noexcept { return absent_; }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  void OrAbsent(void (WatchStream::*action)());
  void ListAndWatch();
  void ReadAnew();
  void ReachPresent();
  [[nodiscard]] bool ReachBySteps();
  void TakeAbsence();
  void ListLater();
  void List();
  void EndList();
  void Watch(std::chrono::seconds timeout);
  [[nodiscard]] bool GoesOn() const;
  [[nodiscard]] bool TakeBytes(std::string_view bytes, LineSplitter& lines);
  void TakeLine(std::string_view line);
  void Skip(std::string_view line, const std::string& why);
  void Deliver(const WatchEvent& event);
  [[nodiscard]] std::chrono::seconds Timeout();
  /// The API server sends a set's watch a bookmark a minute.
  [[nodiscard]] std::chrono::seconds BookmarksTwice() const { return 2 * read_timeout_; }

  const std::string path_;
  const WatchMode mode_;
  const WatchOptions options_;
  const std::chrono::seconds read_timeout_;
  ApiClient& client_;
  EventHandler& handler_;
  SharedMetrics& metrics_;
  EventParser parser_;
  ObjectSet set_;
  SetReader reader_;
  std::string version_;  ///< the newest heard of; empty: the present state
  bool list_is_due_;     ///< no watch can continue from version_
  bool has_beginning_;   ///< watches begin at version_, and set_ knows the objects
  bool absent_ = false;  ///< kOptionalSet: the server has no such resource
  bool listed_ = false;  ///< at least once
  bool falls_back_ = false;
  unsigned failed_lists_ = 0;  ///< failed since the last complete one, with an answer
  bool took_something_ = false;
  bool told_all_ = false;  ///< the newest line is a bookmark
  std::string barrier_;    ///< the version at which the watch may end; empty: it goes on
  unsigned skipped_ = 0;   ///< lines of this watch
  unsigned strange_ = 0;   ///< lines of this watch that are no events
  unsigned expired_ = 0;   ///< watches in a row that ended with kGone and no event
  std::minstd_rand random_;
};

}  // namespace kuryr::watcher
