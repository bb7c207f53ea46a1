#include "controller/rounds/reporter.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace kuryr::controller {
namespace {

std::string WithoutNumbers(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

/// Ignores numbers for kNoFreeAddress: they change all the time while pods wait.
bool SaysTheSame(const Reporter::Problem& problem, const std::string& reason,
                 const std::string& message) {
  if (problem.told_reason != reason) return false;
  if (problem.told_message == message) return true;
  return reason == kNoFreeAddress &&
         WithoutNumbers(problem.told_message) == WithoutNumbers(message);
}

}  // namespace

bool Reporter::IsNews(const PodFacts& pod, const std::string& reason, const std::string& message) {
  const MutexLock lock(mutex_);
  Problem& problem = problems_[KeyOf(pod.name_space, pod.name)];
  const auto now = Clock::now();
  if (problem.uid != pod.uid) problem = {.uid = pod.uid, .since = now};
  problem.reason = reason;
  problem.message = message;
  if (SaysTheSame(problem, reason, message) && now < problem.told + again_) return false;
  if (!rate_.Take(pod.uid)) return false;
  problem.told_reason = reason;
  problem.told_message = message;
  problem.told = now;
  return true;
}

void Reporter::Report(const PodFacts& pod, const std::string& reason, const std::string& message,
                      Writer& writer) {
  if (!IsNews(pod, reason, message)) return;
  Log(LogLevel::kWarning, "pod not planned",
      {{"pod", KeyOf(pod.name_space, pod.name)}, {"reason", reason}, {"error", message}});
  WriteEvent(pod, {.type = watcher::PodEvent::Type::kWarning, .reason = reason, .message = message},
             writer);
}

void Reporter::Tell(const PodFacts& pod, const std::string& reason, const std::string& message,
                    Writer& writer) {
  {
    const MutexLock lock(mutex_);
    if (!rate_.Take(pod.uid)) return;
  }
  Log(LogLevel::kWarning, "told of a pod",
      {{"pod", KeyOf(pod.name_space, pod.name)}, {"reason", reason}, {"message", message}});
  WriteEvent(pod, {.reason = reason, .message = message}, writer);
}

void Reporter::WriteEvent(const PodFacts& pod, const watcher::PodEvent& event,
                          Writer& writer) const {
  if (!use_events_) return;
  try {
    writer.CreateEvent(pod.name_space,
                       watcher::EncodePodEvent(event, {pod.name_space, pod.name, pod.uid},
                                               {"kuryr-controller", pod.node}));
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "event not written",
        {{"pod", KeyOf(pod.name_space, pod.name)}, {"error", e.what()}});
  }
}

bool Reporter::Clear(const std::string& key) {
  const MutexLock lock(mutex_);
  return problems_.erase(key) > 0;
}

std::map<std::string, Reporter::Problem> Reporter::problems() const {
  const MutexLock lock(mutex_);
  return problems_;
}

}  // namespace kuryr::controller
