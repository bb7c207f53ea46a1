#include "cni/pod_event.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace kuryr::cni {
namespace {

using Clock = std::chrono::system_clock;

constexpr const char* kComponent = "kuryr-cni";

std::string Timestamp(Clock::time_point now) {
  const std::time_t time = Clock::to_time_t(now);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// As client-go names events: no two of a pod happen at one moment.
std::string NameOf(const PodArgs& pod, Clock::time_point now) {
  constexpr size_t kLongestName = 253;
  std::array<char, 32> moment{};
  const int size = std::snprintf(
      moment.data(), moment.size(), ".%llx",
      static_cast<unsigned long long>(now.time_since_epoch() / std::chrono::nanoseconds(1)));
  return pod.name.substr(0, kLongestName - static_cast<size_t>(size)) + moment.data();
}

}  // namespace

nlohmann::json EncodePodEvent(const PodEvent& event, const PodArgs& pod, const std::string& node) {
  constexpr size_t kLongestMessage = 1000;
  const Clock::time_point now = Clock::now();
  nlohmann::json json = {
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", {{"name", NameOf(pod, now)}, {"namespace", pod.name_space}}},
      {"involvedObject",
       {{"apiVersion", "v1"}, {"kind", "Pod"}, {"namespace", pod.name_space}, {"name", pod.name}}},
      {"type", event.type == PodEvent::Type::kNormal ? "Normal" : "Warning"},
      {"reason", event.reason},
      {"message", Printable(event.message, kLongestMessage)},
      {"firstTimestamp", Timestamp(now)},
      {"lastTimestamp", Timestamp(now)},
      {"count", 1},
      {"source", {{"component", kComponent}, {"host", node}}},
      {"reportingComponent", kComponent},
      {"reportingInstance", node}};
  if (!pod.uid.empty()) json["involvedObject"]["uid"] = pod.uid;
  return json;
}

}  // namespace kuryr::cni
