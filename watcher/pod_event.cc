#include "watcher/pod_event.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace kuryr::watcher {
namespace {

using WallClock = std::chrono::system_clock;

std::string Timestamp(WallClock::time_point now) {
  const std::time_t time = WallClock::to_time_t(now);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// Names an event as client-go does: an object has no two events at one moment.
std::string NameOf(const EventSubject& subject, WallClock::time_point now) {
  constexpr size_t kLongestName = 253;
  std::array<char, 32> moment{};
  const int size = std::snprintf(
      moment.data(), moment.size(), ".%llx",
      static_cast<unsigned long long>(now.time_since_epoch() / std::chrono::nanoseconds(1)));
  return subject.name.substr(0, kLongestName - static_cast<size_t>(size)) + moment.data();
}

}  // namespace

std::string EventNamespaceOf(const std::string& name_space) {
  return name_space.empty() ? "default" : name_space;
}

nlohmann::json EncodePodEvent(const PodEvent& event, const EventSubject& subject,
                              const EventSource& source) {
  constexpr size_t kLongestMessage = 1000;
  const WallClock::time_point now = WallClock::now();
  nlohmann::json json = {
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata",
       {{"name", NameOf(subject, now)}, {"namespace", EventNamespaceOf(subject.name_space)}}},
      {"involvedObject",
       {{"apiVersion", subject.api_version}, {"kind", subject.kind}, {"name", subject.name}}},
      {"type", event.type == PodEvent::Type::kNormal ? "Normal" : "Warning"},
      {"reason", event.reason},
      {"message", Printable(event.message, kLongestMessage)},
      {"firstTimestamp", Timestamp(now)},
      {"lastTimestamp", Timestamp(now)},
      {"count", 1},
      {"source", {{"component", source.component}, {"host", source.host}}},
      {"reportingComponent", source.component},
      {"reportingInstance", source.host}};
  nlohmann::json& involved = json["involvedObject"];
  if (!subject.uid.empty()) involved["uid"] = subject.uid;
  if (!subject.name_space.empty()) involved["namespace"] = subject.name_space;
  return json;
}

}  // namespace kuryr::watcher
