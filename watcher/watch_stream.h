#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "watcher/api_client.h"
#include "watcher/dispatcher.h"
#include "watcher/event_parser.h"
#include "watcher/list_page.h"
#include "watcher/object_set.h"
#include "watcher/watch_metrics.h"

namespace kuryr::watcher {

enum class WatchMode {
  /// Without resourceVersion: the present state comes first as ADDED, at every connection. For one
  /// object, or where hearing everything again does no harm.
  kPresentState,
  /// List in pages, then watch from the list's resourceVersion, with bookmarks; list again only
  /// when that version is gone, and tell the difference. (client-go's ListAndWatch)
  kSet,
  /// As kSet, of a resource that the server need not have: 404 means that there are no objects, and
  /// is no failure.
  kOptionalSet,
};

/// What a watch may have beside its mode.
struct WatchOptions {
  /// kSet, kOptionalSet: the first list is of the present state, too, and not of what the server
  /// has at hand, which may be older than what this process has heard of elsewhere.
  bool fresh = false;
  /// Called in the watch's thread after each complete list, when its events have been handled.
  std::function<void()> on_listed;
  /// kOptionalSet: 403 for longer than ApiConfig::refusal_grace, before the first list, is absence,
  /// too. Called in the watch's thread when that begins. Empty: it is a failure.
  std::function<void(const std::exception& refusal)> on_forbidden;
};

/// One watch from connection to connection: what to ask for next, and the way of a line to the
/// handler. One bad line or object, and what a handler throws, is logged, counted and skipped. A
/// line without end, and many that are no events, end the watch. Not thread-safe.
class WatchStream {
 public:
  /// What the stream works with, all borrowed.
  struct Tools {
    ApiClient& client;
    EventHandler& handler;
    SharedMetrics& metrics;
  };

  /// `path` is without watch=true.
  WatchStream(std::string path, WatchMode mode, WatchOptions options,
              std::chrono::seconds read_timeout, Tools tools);

  /// Lists if need be, watches until the server ends the watch in order, and throws what ApiClient
  /// does. In-stream ERROR events are thrown as ApiError.
  void Once();
  /// Makes what was heard of a set at least as new as what the server has at the call. It takes the
  /// cheapest way that leads there: a few pages, the watch from where it is, or a whole list.
  /// Throws as Once does.
  void CatchUp();
  /// Since the last call: an event, or a bookmark.
  [[nodiscard]] bool TookSomething() { return std::exchange(took_something_, false); }
  /// The next list is of the present state, which the server reads from its store: all objects,
  /// also those that the path does not select. Only because it could not list otherwise.
  [[nodiscard]] bool falls_back() const noexcept { return falls_back_; }
  /// The last two watches or more have told nothing but that their version is gone: a list does not
  /// mend it.
  [[nodiscard]] bool ExpiredAgain() const noexcept { return expired_ > 1; }

  /// The server has refused for long to tell what it has. False where that is no absence.
  [[nodiscard]] bool TakeForbidden(const std::exception& refusal);
  /// kOptionalSet: the server has no such resource.
  [[nodiscard]] bool absent() const noexcept { return absent_; }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  void OrAbsent(void (WatchStream::*action)());
  void ListAndWatch();
  void ReachPresent();
  [[nodiscard]] bool ReachBySteps();
  void TakeAbsence();
  void List();
  void EndList();
  void ListPresent();
  void ListFrom(const std::string& version, unsigned page_size);
  void TakePages(const ListPage& first, const std::string& limit);
  void TakePage(const ListPage& page);
  void TakeItem(std::string_view item, const ItemType& type);
  void Watch(std::chrono::seconds timeout);
  [[nodiscard]] bool GoesOn() const;
  [[nodiscard]] bool TakeBytes(std::string_view bytes, LineSplitter& lines);
  void TakeLine(std::string_view line);
  void Skip(std::string_view line, const std::string& why);
  void Deliver(const WatchEvent& event);
  [[nodiscard]] std::chrono::seconds Timeout();
  /// The API server sends a set's watch a bookmark a minute.
  [[nodiscard]] std::chrono::seconds BookmarksTwice() const { return 2 * read_timeout_; }

  /// The resourceVersion of whatever the server has at hand.
  static constexpr const char* kAtHand = "0";

  const std::string path_;
  const WatchMode mode_;
  const WatchOptions options_;
  const std::chrono::seconds read_timeout_;
  ApiClient& client_;
  EventHandler& handler_;
  SharedMetrics& metrics_;
  EventParser parser_;
  ObjectSet set_;
  std::string version_;      ///< kSet: the newest heard of; empty: the present state
  bool list_is_due_ = true;  ///< kSet: version_ is no place to go on from
  bool absent_ = false;      ///< kOptionalSet: the server has no such resource
  bool listed_ = false;      ///< once, or more often
  bool falls_back_ = false;
  unsigned failed_lists_ = 0;  ///< that the server has answered, since the last complete one
  bool took_something_ = false;
  bool told_all_ = false;  ///< the newest line is a bookmark
  std::string barrier_;    ///< the version at which the watch may end; empty: it goes on
  unsigned skipped_ = 0;   ///< lines or items, in this watch or list
  unsigned strange_ = 0;   ///< lines of this watch that are no events
  unsigned expired_ = 0;   ///< watches in a row that ended with kGone and no event
  std::minstd_rand random_;
};

}  // namespace kuryr::watcher
