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

watcher::EventSubject SubjectOf(const Owner& owner) {
  return {.name_space = owner.scope,
          .name = owner.name,
          .uid = owner.id,
          .kind = owner.is_node() ? "Node" : "Pod"};
}

LogField NameField(const Owner& owner) {
  if (owner.is_node()) return {"node", owner.name};
  return {"pod", KeyOf(owner)};
}

}  // namespace

bool Reporter::IsNews(const Owner& owner, const std::string& reason, const std::string& message) {
  const MutexLock lock(mutex_);
  Problem& problem = problems_[KeyOf(owner)];
  const auto now = Clock::now();
  if (problem.uid != owner.id) problem = {.uid = owner.id, .since = now};
  problem.reason = reason;
  problem.message = message;
  if (SaysTheSame(problem, reason, message) && now < problem.told + again_) return false;
  if (!rate_.Take(owner.id)) return false;
  problem.told_reason = reason;
  problem.told_message = message;
  problem.told = now;
  return true;
}

void Reporter::Report(const Owner& owner, const std::string& reason, const std::string& message,
                      Writer& writer) {
  if (!IsNews(owner, reason, message)) return;
  Log(LogLevel::kWarning, "not planned",
      {NameField(owner), {"reason", reason}, {"error", message}});
  WriteEvent(SubjectOf(owner), owner.node,
             {.type = watcher::PodEvent::Type::kWarning, .reason = reason, .message = message},
             writer);
}

void Reporter::Tell(const Owner& owner, const std::string& reason, const std::string& message,
                    Writer& writer) {
  {
    const MutexLock lock(mutex_);
    if (!rate_.Take(owner.id)) return;
  }
  Log(LogLevel::kWarning, "told", {NameField(owner), {"reason", reason}, {"message", message}});
  WriteEvent(SubjectOf(owner), owner.node, {.reason = reason, .message = message}, writer);
}

void Reporter::TellOf(const watcher::EventSubject& subject, const std::string& reason,
                      const std::string& message, Writer& writer) {
  {
    const MutexLock lock(mutex_);
    if (!rate_.Take(subject.kind + "s of " + subject.name_space)) return;
  }
  Log(LogLevel::kWarning, "told",
      {{"kind", subject.kind},
       {"object", KeyOf(subject.name_space, subject.name)},
       {"reason", reason},
       {"message", message}});
  WriteEvent(subject, "",
             {.type = watcher::PodEvent::Type::kWarning, .reason = reason, .message = message},
             writer);
}

void Reporter::WriteEvent(const watcher::EventSubject& subject, const std::string& node,
                          const watcher::PodEvent& event, Writer& writer) const {
  if (!use_events_) return;
  try {
    writer.CreateEvent(watcher::EventNamespaceOf(subject.name_space),
                       watcher::EncodePodEvent(event, subject, {"kuryr-controller", node}));
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "event not written",
        {{"object", KeyOf(subject.name_space, subject.name)}, {"error", e.what()}});
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
