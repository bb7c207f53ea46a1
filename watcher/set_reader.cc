#include "watcher/set_reader.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "watcher/api_error.h"
#include "watcher/json_text.h"

namespace kuryr::watcher {
namespace {

/// The page sizes of lists. The smaller ones are for objects so large that ApiClient refuses a
/// bigger page.
constexpr std::array<unsigned, 4> kPageSizes = {500, 50, 5, 1};
/// The most objects after the first one that come in one answer.
constexpr uint64_t kFewMore = 5000;
/// The most skipped objects of one read that are logged.
constexpr unsigned kMostLogged = 10;
/// A server ends a streamed list that takes longer.
constexpr std::chrono::seconds kStreaming{600};

std::string LimitOf(unsigned page_size) { return "limit=" + std::to_string(page_size); }

/// To find one object that is selected, a server may look at all.
bool HasSelector(const std::string& path) { return path.find('?') != std::string::npos; }

/// The name in an item that no parser accepts.
std::string NameIn(std::string_view item, std::string_view key) {
  const std::string_view quoted = FindJsonText(item, {"metadata", key}).value_or("");
  return quoted.size() < 2 ? "" : std::string(quoted.substr(1, quoted.size() - 2));
}

/// A server that knows no such lists refuses the parameters.
bool StreamsNoLists(const ApiError& error) {
  constexpr int kBadRequest = 400;
  constexpr int kInvalid = 422;
  return error.code() == kBadRequest || error.code() == kInvalid;
}

bool EndsInitialEvents(const WatchEvent& event) {
  const nlohmann::json& metadata = MemberAt(*event.object, "metadata");
  return StringAt(MemberAt(metadata, "annotations"), "k8s.io/initial-events-end") == "true";
}

}  // namespace

std::string SetReader::AtLeast(const std::string& version) {
  return From(version, kPageSizes.front());
}

/// Kubernetes 1.31 and later have a list of the present state in the cache if it has no limit, and
/// read pages from etcd.
std::string SetReader::Present() {
  if (HasSelector(path_)) return Pages();
  const ListPage first = First();
  try {
    if (IsFew(first)) return Few(first);
  } catch (const ApiError& e) {
    if (!e.IsTooLarge()) throw;
    return Pages();
  }
  const auto version = Streamed();
  return version ? *version : Pages();
}

std::string SetReader::Pages() {
  for (const unsigned page_size : kPageSizes) {
    try {
      return From("", page_size);
    } catch (const ApiError& e) {
      if (!e.IsTooLarge() || page_size == kPageSizes.back()) throw;
    }
  }
  return "";
}

ListPage SetReader::First() {
  const unsigned size = HasSelector(path_) ? kPageSizes.front() : 1;
  return ListPage(tools_.client.GetText(WithQuery(path_, LimitOf(size))));
}

bool SetReader::IsFew(const ListPage& first) {
  return first.remaining().value_or(UINT64_MAX) <= kFewMore;
}

std::string SetReader::Few(const ListPage& first) {
  if (!first.continue_token().empty()) return From("", 0);
  return TakePages(first, LimitOf(kPageSizes.front()));
}

/// Lists from a version: kAtHand gets the server's cached state, another version a state at least
/// that new, and none the present state. With a limit, another version would mean exactly that
/// version, which etcd may still have when no watch can begin there any more. A `page_size` of 0 is
/// no limit.
std::string SetReader::From(const std::string& version, unsigned page_size) {
  const std::string limit = LimitOf(page_size == 0 ? kPageSizes.front() : page_size);
  std::string path = path_;
  if (page_size != 0 && (version.empty() || version == kAtHand)) path = WithQuery(path, limit);
  if (!version.empty()) path = WithQuery(path, "resourceVersion=" + Escaped(version));
  return TakePages(ListPage(tools_.client.GetText(path)), limit);
}

/// Takes all pages from `first` on.
std::string SetReader::TakePages(const ListPage& first, const std::string& limit) {
  ApiClient& client = tools_.client;
  skipped_ = 0;
  tools_.set.BeginList();
  const auto take = [&](const ListPage& page) {
    page.ForEachItem([&](std::string_view item) { TakeItem(item, page.item_type()); });
    return page.version();
  };
  std::string version = take(first);
  std::string next = first.continue_token();
  while (!next.empty() && !client.stopped()) {
    const ListPage page(client.GetText(WithQuery(path_, limit + "&continue=" + Escaped(next))));
    version = take(page);
    next = page.continue_token();
  }
  if (!client.stopped()) tools_.set.EndList();
  return version;
}

void SetReader::TakeItem(std::string_view item, const ItemType& type) {
  if (tools_.client.stopped()) return;
  try {
    tools_.set.Take(tools_.parser.ParseItem(item, type));
  } catch (const ParseError& e) {
    Skip(item, e.what());
  }
}

void SetReader::Skip(std::string_view item, const std::string& why) {
  const std::string name_space = NameIn(item, "namespace");
  const std::string name = NameIn(item, "name");
  tools_.set.Keep(name_space, name);
  tools_.metrics.Update([](WatchMetrics& metrics) { ++metrics.bad_lines; });
  if (skipped_++ >= kMostLogged) return;
  Log(LogLevel::kWarning, "list item skipped",
      {{"path", path_}, {"object", Printable(name_space + "/" + name, 300)}, {"error", why}});
}

/// The server sends the state out of its cache, one object at a time (WatchList, by default from
/// Kubernetes 1.34 on). nullopt: it streams no lists, or the stream ended before the state did.
std::optional<std::string> SetReader::Streamed() {
  const std::string query =
      "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
      "&allowWatchBookmarks=true&timeoutSeconds=" +
      std::to_string(kStreaming.count());
  std::optional<std::string> version;
  LineSplitter lines;
  bool goes_on = true;
  skipped_ = 0;
  tools_.set.BeginList();
  try {
    tools_.client.Stream(WithQuery(path_, query), {.lifetime = kStreaming, .silence = patience_},
                         [&](std::string_view bytes) {
                           lines.Feed(bytes, [&](std::string_view line) {
                             if (goes_on && !tools_.client.stopped())
                               goes_on = TakeLine(line, version);
                           });
                           return goes_on && lines.too_long() == 0;
                         });
  } catch (const ApiError& e) {
    if (!StreamsNoLists(e)) throw;
  }
  if (version) tools_.set.EndList();
  return version;
}

/// Whether the state goes on. A bookmark behind its last object has its version; an ERROR ends it
/// without one, as that of a cache that lags behind etcd.
bool SetReader::TakeLine(std::string_view line, std::optional<std::string>& version) {
  WatchEvent event;
  try {
    event = tools_.parser.Parse(line);
  } catch (const ParseError& e) {
    Skip(FindJsonText(line, {"object"}).value_or(""), e.what());
    return true;
  }
  if (event.type == EventType::kError) return false;
  if (event.type != EventType::kBookmark) {
    tools_.set.Take(event);
  } else if (EndsInitialEvents(event)) {
    version = event.resource_version;
  }
  return !version;
}

}  // namespace kuryr::watcher
