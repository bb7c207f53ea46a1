#include "controller/reporter.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "watcher/pod_event.h"

namespace kuryr::controller {

bool Reporter::IsNews(const PodFacts& pod, const std::string& reason, const std::string& message) {
  const MutexLock lock(mutex_);
  Problem& problem = problems_[KeyOf(pod.name_space, pod.name)];
  if (problem.uid == pod.uid && problem.reason == reason && problem.message == message)
    return false;
  if (problem.uid != pod.uid) problem.since = Clock::now();
  problem.uid = pod.uid;
  problem.reason = reason;
  problem.message = message;
  return true;
}

void Reporter::Report(const PodFacts& pod, const std::string& reason, const std::string& message,
                      Writer& writer) {
  if (!IsNews(pod, reason, message)) return;
  Log(LogLevel::kWarning, "pod not planned",
      {{"pod", KeyOf(pod.name_space, pod.name)}, {"reason", reason}, {"error", message}});
  if (!use_events_) return;
  const watcher::PodEvent event = {
      .type = watcher::PodEvent::Type::kWarning, .reason = reason, .message = message};
  try {
    writer.CreateEvent(pod.name_space,
                       watcher::EncodePodEvent(event, {pod.name_space, pod.name, pod.uid},
                                               {"kuryr-controller", pod.node}));
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "event not written",
        {{"pod", KeyOf(pod.name_space, pod.name)}, {"error", e.what()}});
  }
}

void Reporter::Clear(const std::string& key) {
  const MutexLock lock(mutex_);
  problems_.erase(key);
}

std::map<std::string, Reporter::Problem> Reporter::problems() const {
  const MutexLock lock(mutex_);
  return problems_;
}

}  // namespace kuryr::controller
