#include "watcher/watch_stream.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/rollback.h"
#include "watcher/api_error.h"
#include "watcher/list_pages.h"

namespace kuryr::watcher {
namespace {

using std::chrono::seconds;

/// The time that a server may take beyond the requested timeoutSeconds.
constexpr seconds kGrace{10};

/// timeoutSeconds of a watch that catches up: the first bookmark comes 2 s before that end.
constexpr seconds kCatchUp{3};
/// No API server sends so long a line for any object.
constexpr size_t kEndlessLine = size_t{64} << 20;
/// The most lines of one watch that are no events.
constexpr unsigned kMostStrange = 100;
/// The most skipped lines of one watch that are logged.
constexpr unsigned kMostTold = 10;

/// Compares two versions that are numbers, as a kube-apiserver's are. False for other versions.
bool IsAtLeast(const std::string& version, const std::string& other) {
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!is_number(version) || !is_number(other)) return false;
  if (version.size() != other.size()) return version.size() > other.size();
  return version >= other;
}

/// After this many failed lists in a row, the cause is the version and not a busy server.
constexpr unsigned kBusyLists = 5;

/// Whether a list of the present state may succeed where the list at a version failed. The version
/// may be gone, or unknown to a restored etcd, or its answer too large, because it comes in one
/// page.
bool MayListAnew(const ApiError& error, unsigned failed_lists) {
  constexpr int kBadRequest = 400;
  constexpr int kInternal = 500;
  constexpr int kTimeout = 504;
  if (error.code() == kInternal || error.code() == kTimeout) return failed_lists >= kBusyLists;
  return error.code() == ApiError::kGone || error.code() == kBadRequest || error.IsTooLarge();
}

}  // namespace

WatchStream::WatchStream(std::string path, WatchMode mode, WatchOptions options,
                         seconds read_timeout, Tools tools)
    : path_(std::move(path)),
      mode_(mode),
      options_(std::move(options)),
      read_timeout_(read_timeout),
      client_(tools.client),
      handler_(tools.handler),
      metrics_(tools.metrics),
      set_([this](const WatchEvent& event) { Deliver(event); }),
      reader_(path_, BookmarksTwice() + kGrace, {client_, parser_, set_, metrics_}),
      version_(options_.fresh ? "" : SetReader::kAtHand),
      list_is_due_(mode_ != WatchMode::kPresentState),
      has_beginning_(mode_ != WatchMode::kPresentState || options_.begin),
      random_(std::random_device{}()) {
  if (!options_.begin) return;
  version_ = options_.begin->version;
  for (const WatchEvent& object : options_.begin->objects) set_.Know(object);
}

void WatchStream::Once() { OrAbsent(&WatchStream::ListAndWatch); }

void WatchStream::CatchUp() {
  if (mode_ != WatchMode::kPresentState) OrAbsent(&WatchStream::ReachPresent);
}

void WatchStream::OrAbsent(void (WatchStream::*action)()) {
  if (mode_ != WatchMode::kOptionalSet) return (this->*action)();
  try {
    (this->*action)();
  } catch (const ApiError& e) {
    if (e.code() != ApiError::kNotFound) throw;
    TakeAbsence();
  }
}

/// Empties the set, so that a later list emits every object as new.
void WatchStream::TakeAbsence() {
  if (!std::exchange(absent_, true))
    Log(LogLevel::kInfo, "the API server has no such resource", {{"path", path_}});
  set_.BeginList();
  set_.EndList();
  version_ = options_.fresh ? "" : SetReader::kAtHand;
  list_is_due_ = true;
  if (options_.on_listed) options_.on_listed();
}

/// Takes a refusal as absence. The known objects stay known.
bool WatchStream::TakeForbidden(const std::exception& refusal) {
  if (mode_ != WatchMode::kOptionalSet || !options_.on_forbidden || listed_) return false;
  if (std::exchange(absent_, true)) return true;
  options_.on_forbidden(refusal);
  if (options_.on_listed) options_.on_listed();
  return true;
}

/// Where the path may be watched and not listed, its watch goes on without a version.
void WatchStream::ReadAnew() {
  try {
    version_ = reader_.Present();
    EndList();
  } catch (const ApiError& e) {
    if (e.code() != ApiError::kForbidden) throw;
    list_is_due_ = has_beginning_ = false;
  }
}

void WatchStream::ListAndWatch() {
  if (list_is_due_) List();
  const auto start = WatchMetrics::Clock::now();
  try {
    Watch(Timeout());
    expired_ = 0;
    // Not even a bookmark came: the version may be from the future, as after a restored etcd.
    const bool is_silent =
        mode_ == WatchMode::kPresentState || WatchMetrics::Clock::now() - start > BookmarksTwice();
    if (has_beginning_ && !took_something_ && is_silent) ListLater();
  } catch (const ApiError& e) {
    if (!e.IsOfClient()) list_is_due_ = true;
    if (e.code() == ApiError::kGone) ++expired_;
    throw;
  }
}

/// A kube-apiserver up to 1.20 sends no bookmarks of a resource that never changed, and takes 3 s
/// to refuse a list at the version of another list.
void WatchStream::ListLater() {
  list_is_due_ = true;
  if (options_.fresh) version_.clear();
}

void WatchStream::ReachPresent() {
  if (!list_is_due_ && ReachBySteps()) return;
  version_.clear();
  list_is_due_ = true;
  List();
}

/// The first page names the present version. A small set that is older is listed again. For a
/// larger set, the watch continues to that version. A server without further events sends a
/// bookmark 2 s before the requested end. Returns false if the watch did not reach the version:
/// some servers' watches learn versions only from their own events.
bool WatchStream::ReachBySteps() {
  try {
    const ListPage first = reader_.First();
    const std::string& barrier = first.version();
    if (IsAtLeast(version_, barrier)) return true;
    if (SetReader::IsFew(first)) {
      list_is_due_ = true;
      version_ = reader_.Few(first);
      EndList();
      return true;
    }
    if (!IsAtLeast(barrier, barrier)) return false;
    const Rollback nowhere([this]() noexcept { barrier_.clear(); });
    barrier_ = barrier;
    told_all_ = false;
    Watch(kCatchUp);
    return IsAtLeast(version_, barrier);
  } catch (const ApiError& e) {
    if (e.code() != ApiError::kGone && !e.IsTooLarge()) throw;
    return false;
  }
}

void WatchStream::List() {
  if (mode_ == WatchMode::kPresentState) return ReadAnew();
  try {
    const bool is_present = falls_back_ || version_.empty();
    version_ = is_present ? reader_.Present() : reader_.AtLeast(version_);
  } catch (const ApiError& e) {
    if (falls_back_ || !MayListAnew(e, ++failed_lists_)) throw;
    falls_back_ = true;
    // For an answer that is too large, pages cost the server no more. Other failures may hit all
    // nodes at one time.
    if (!e.IsTooLarge()) throw;
    version_ = reader_.Pages();
  }
  EndList();
}

void WatchStream::EndList() {
  falls_back_ = false;
  failed_lists_ = 0;
  list_is_due_ = false;
  has_beginning_ = true;
  listed_ = true;
  if (std::exchange(absent_, false))
    Log(LogLevel::kInfo, "the API server has the resource now", {{"path", path_}});
  metrics_.Update([](WatchMetrics& metrics) { ++metrics.lists; });
  if (options_.on_listed && !client_.stopped()) options_.on_listed();
}

seconds WatchStream::Timeout() {
  if (mode_ == WatchMode::kPresentState) return read_timeout_;
  // The random time spreads the nodes of a cluster, so that they do not all reconnect at once.
  std::uniform_int_distribution<seconds::rep> between(5 * read_timeout_.count(),
                                                      10 * read_timeout_.count());
  return seconds(between(random_));
}

void WatchStream::Watch(seconds timeout) {
  std::string query = "watch=true&timeoutSeconds=" + std::to_string(timeout.count());
  if (has_beginning_) {
    query += "&allowWatchBookmarks=true&resourceVersion=" + Escaped(version_);
  }
  LineSplitter lines;
  skipped_ = strange_ = 0;
  // A watch that is silent for that long may be lost although its connection is still open.
  const ApiClient::Limits limits = {.lifetime = timeout + kGrace,
                                    .silence = BookmarksTwice() + kGrace};
  client_.Stream(WithQuery(path_, query), limits,
                 [&](std::string_view bytes) { return TakeBytes(bytes, lines); });
}

bool WatchStream::TakeBytes(std::string_view bytes, LineSplitter& lines) {
  const size_t too_long = lines.too_long();
  lines.Feed(bytes, [this](std::string_view line) {
    if (!client_.stopped()) TakeLine(line);
  });
  metrics_.Update([&](WatchMetrics& metrics) {
    // An answer that again reports a version that is gone is also a 200.
    if (!ExpiredAgain()) metrics.failing_since.reset();
    metrics.bytes += bytes.size();
    metrics.bad_lines += lines.too_long() - too_long;
  });
  if (lines.too_long() != too_long && skipped_++ < kMostTold)
    Log(LogLevel::kWarning, "watch line skipped", {{"path", path_}, {"error", "too long"}});
  if (lines.pending() > kEndlessLine) {
    throw ApiError(0, "Malformed",
                   "API server sent a watch line of more than " + std::to_string(kEndlessLine) +
                       " bytes (" + path_ + ")");
  }
  return GoesOn();
}

/// Skips a line. A line that begins as an event does not count as strange: a user may write any
/// number of bad objects.
void WatchStream::Skip(std::string_view line, const std::string& why) {
  metrics_.Update([](WatchMetrics& metrics) { ++metrics.bad_lines; });
  if (skipped_++ < kMostTold)
    Log(LogLevel::kWarning, "watch line skipped", {{"path", path_}, {"error", why}});
  if (!line.starts_with(R"({"type":)") && ++strange_ > kMostStrange)
    throw ApiError(0, "Malformed",
                   "API server sent a watch more than " + std::to_string(kMostStrange) +
                       " lines that are no events (" + path_ + ")");
}

bool WatchStream::GoesOn() const {
  if (client_.stopped()) return false;
  return barrier_.empty() || !(told_all_ || IsAtLeast(version_, barrier_));
}

void WatchStream::TakeLine(std::string_view line) {
  const auto arrived = WatchMetrics::Clock::now();
  WatchEvent event;
  try {
    event = parser_.Parse(line);
  } catch (const ParseError& e) {
    return Skip(line, e.what());
  }
  metrics_.Update([&](WatchMetrics& metrics) {
    ++metrics.events[static_cast<size_t>(event.type)];
    metrics.last_event = arrived;
    if (event.type != EventType::kError) metrics.failing_since.reset();
  });
  if (event.type == EventType::kError) throw ErrorOf(event);
  if (!event.resource_version.empty()) version_ = event.resource_version;
  took_something_ = true;
  expired_ = 0;
  told_all_ = event.type == EventType::kBookmark;
  if (told_all_) return;
  if (has_beginning_) {
    set_.Take(event);
  } else {
    Deliver(event);
  }
  const auto lag = WatchMetrics::Clock::now() - arrived;
  metrics_.Update([&](WatchMetrics& metrics) { metrics.lag = lag; });
}

void WatchStream::Deliver(const WatchEvent& event) {
  if (client_.stopped()) return;
  try {
    handler_.Handle(event);
  } catch (const std::exception& e) {
    metrics_.Update([](WatchMetrics& metrics) { ++metrics.handler_errors; });
    Log(LogLevel::kError, "event handler failed",
        {{"kind", event.kind},
         {"object", event.name_space + "/" + event.name},
         {"error", e.what()}});
  }
}

}  // namespace kuryr::watcher
