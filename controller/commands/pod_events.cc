#include "controller/commands/pod_events.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "controller/election/api_time.h"
#include "service/table.h"
#include "watcher/api_error.h"
#include "watcher/list_pages.h"

namespace kuryr::controller {
namespace {

constexpr size_t kMostMessage = 1000;

/// The Event's last time, which a repetition renews, else its event time.
std::chrono::sys_seconds TimeOf(const nlohmann::json& event) {
  for (const char* key : {"lastTimestamp", "eventTime"}) {
    if (const auto time = ParseTime(StringAt(event, key))) return *time;
  }
  return {};
}

/// 0 where it is no number: kube-apiserver's are numbers.
uint64_t VersionOf(const nlohmann::json& event) {
  const std::string text = StringAt(MemberAt(event, "metadata"), "resourceVersion");
  uint64_t version = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

}  // namespace

bool PodEvents::Told::IsAfter(const Told& other) const {
  return std::tie(at, version) > std::tie(other.at, other.version);
}

std::string PodEvents::Told::ToString() const {
  return service::Age(AgeOf(at)) + " ago: " + reason + " " + message;
}

PodEvents::PodEvents(watcher::ApiClient& client, const std::string& name_space) {
  const std::string events =
      name_space.empty() ? "/api/v1/events" : "/api/v1/namespaces/" + name_space + "/events";
  try {
    watcher::ForEachListed(
        client, events + "?fieldSelector=source%3Dkuryr-controller",
        {.item = [this](const watcher::WatchEvent& event) { Take(event); },
         .bad_item = [this](const std::string& problem) { problem_ = problem; }});
  } catch (const watcher::ApiError& e) {
    if (e.code() != watcher::ApiError::kForbidden) throw;
    problem_ = e.what();
  }
}

void PodEvents::Take(const watcher::WatchEvent& event) {
  const auto involved = event.object->find("involvedObject");
  if (involved == event.object->end()) return;
  Told told{.reason = Printable(StringAt(*event.object, "reason")),
            .message = Printable(StringAt(*event.object, "message"), kMostMessage),
            .at = TimeOf(*event.object),
            .version = VersionOf(*event.object)};
  Told& newest = newest_[StringAt(*involved, "uid")];
  if (newest.reason.empty() || !newest.IsAfter(told)) newest = std::move(told);
}

const PodEvents::Told* PodEvents::Find(const std::string& uid) const {
  const auto found = newest_.find(uid);
  return found == newest_.end() ? nullptr : &found->second;
}

}  // namespace kuryr::controller
