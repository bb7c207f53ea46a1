#include "tests/fake_apiserver/watch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/fake_apiserver/status.h"

namespace kuryr::fake {
namespace {

/// The object of a bookmark: it has only a resourceVersion. Go also writes a pod's mandatory
/// fields.
nlohmann::ordered_json BookmarkObject(const Resource& resource, uint64_t version) {
  nlohmann::ordered_json object = {{"kind", resource.kind},
                                   {"apiVersion", resource.ApiVersion()},
                                   {"metadata", {{"resourceVersion", std::to_string(version)}}}};
  if (!resource.custom) {
    object["metadata"]["creationTimestamp"] = nullptr;
    if (resource.kind == "Pod") object["spec"]["containers"] = nullptr;
    if (resource.has_status) object["status"] = nlohmann::ordered_json::object();
  }
  return object;
}

}  // namespace

void Watch::Run(Connection& connection, WatchHub& hub, bool keep_alive) {
  const auto start = Clock::now();
  end_ = start + pace_.second * request_.timeout_seconds;
  if (request_.bookmarks) PlanBookmark(start);

  OpenWatch watch(hub);
  if (!stream_.Start(keep_alive) || !SendStart()) return;
  watch.MarkReady();
  for (;;) {
    switch (connection.WaitUntil(watch.signal(), std::min(end_, bookmark_))) {
      case Connection::Wake::kClosed:
        return;
      case Connection::Wake::kSignal:
        if (!TakeTurn(watch)) return;
        break;
      case Connection::Wake::kTimeout:
        if (!SendDue()) return;
    }
  }
}

bool Watch::TakeTurn(OpenWatch& watch) {
  for (const WatchCommand& command : watch.TakeCommands()) {
    if (!SendChanges(command.version) || !Obey(command)) return false;
  }
  return SendChanges();
}

bool Watch::SendStart() {
  if (request_.from) {
    version_ = *request_.from;
    const uint64_t oldest = store_.compacted();
    return version_ < oldest ? SendExpired(oldest) : SendChanges();
  }
  const auto present = store_.List(request_.resource->QualifiedName(), request_.ns);
  version_ = present.version;
  return std::all_of(present.objects.begin(), present.objects.end(),
                     [&](const Object& object) {
                       return !request_.selector.Matches(*object) ||
                              stream_.SendEvent("ADDED", object->dump());
                     }) &&
         (!request_.streams_list || SendEndOfList());
}

bool Watch::SendEndOfList() {
  auto object = BookmarkObject(*request_.resource, version_);
  object["metadata"]["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  return stream_.SendEvent("BOOKMARK", object.dump());
}

bool Watch::SendExpired(uint64_t oldest) {
  const std::string message =
      "too old resource version: " + std::to_string(version_) + " (" + std::to_string(oldest) + ")";
  if (stream_.SendEvent("ERROR", ExpiredStatus(message).dump())) stream_.Finish();
  return false;
}

bool Watch::SendChanges(uint64_t up_to) {
  const auto progress =
      store_.ChangesSince(version_, request_.resource->QualifiedName(), request_.ns);
  if (!progress) return SendExpired(store_.compacted());
  for (const Change& change : progress->changes) {
    if (change.version > up_to) break;
    if (!SendChange(change)) return false;
    version_ = change.version;
  }
  version_ = std::max(version_, std::min(progress->version, up_to));
  return true;
}

bool Watch::SendChange(const Change& change) {
  const bool was_seen = change.before && request_.selector.Matches(*change.before);
  const bool is_seen = !change.deleted && request_.selector.Matches(*change.after);
  if (is_seen) return stream_.SendEvent(was_seen ? "MODIFIED" : "ADDED", change.after->dump());
  if (!was_seen) return true;
  // An object that leaves the selector is shown in its last matching state, with the version of its
  // leaving.
  nlohmann::json last = *change.before;
  last["metadata"]["resourceVersion"] = std::to_string(change.version);
  return stream_.SendEvent("DELETED", last.dump());
}

bool Watch::SendDue() {
  if (bookmark_ > end_) {
    stream_.Finish();
    return false;
  }
  // Counts from the planned time: a late thread leaves no bookmark out.
  PlanBookmark(bookmark_);
  return SendBookmark();
}

bool Watch::SendBookmark() {
  if (!SendChanges()) return false;
  return stream_.SendEvent("BOOKMARK", BookmarkObject(*request_.resource, version_).dump());
}

void Watch::PlanBookmark(Clock::time_point last) {
  const auto final_one = end_ - pace_.second * pace_.bookmark_before_end;
  bookmark_ = last < final_one ? std::min(last + pace_.second * pace_.bookmark_interval, final_one)
                               : Clock::time_point::max();
}

bool Watch::Obey(const WatchCommand& command) {
  switch (command.kind) {
    case WatchCommand::Kind::kSend:
      return stream_.SendRaw(command.text);
    case WatchCommand::Kind::kBookmark:
      return !request_.bookmarks || SendBookmark();
    case WatchCommand::Kind::kEnd:
      stream_.Finish();
      return false;
    case WatchCommand::Kind::kDrop:
      stream_.Cut();
      return false;
  }
  return false;
}

}  // namespace kuryr::fake
