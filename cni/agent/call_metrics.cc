#include "cni/agent/call_metrics.h"

#include <algorithm>

namespace kuryr::cni {
namespace {

/// Undoing what was done has time of its own, and Open vSwitch may be slow.
constexpr std::chrono::seconds kGrace{120};

constexpr const char* kUnknown = "unknown";

const char* NameOf(Stage stage) {
  switch (stage) {
    case Stage::kWaitVif:
      return "wait_vif";
    case Stage::kPlug:
      return "plug";
    case Stage::kWaitActive:
      return "wait_active";
    case Stage::kWaitWiring:
      return "wait_wiring";
    case Stage::kUnplug:
      return "unplug";
  }
  return kUnknown;
}

}  // namespace

CallMetrics::Running::Running(CallMetrics& all)
    : all_(all), begin_(Clock::now()), work_([&] {
        const MutexLock lock(all.mutex_);
        return all.running_.insert(all.running_.end(), {kUnknown, begin_, begin_});
      }()) {}

CallMetrics::Running::~Running() {
  Clock::time_point end = Clock::now();
  const MutexLock lock(all_.mutex_);
  const std::string& command = work_->command;
  all_.ended_[{command, error_}].Observe(end - begin_);
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    all_.stages_[{command, stage->first, error_}].Observe(end - stage->second);
    end = stage->second;
  }
  all_.running_.erase(work_);
}

void CallMetrics::Running::SetCommand(Command command, Clock::duration longest) {
  const MutexLock lock(all_.mutex_);
  work_->command = ToString(command);
  work_->due = work_->begin + longest;
}

std::optional<std::string> CallMetrics::WhyStuck(Clock::time_point now) const {
  const MutexLock lock(mutex_);
  const auto stuck = std::find_if(running_.begin(), running_.end(),
                                  [&](const Work& work) { return now > work.due + kGrace; });
  if (stuck == running_.end()) return std::nullopt;
  const auto late = std::chrono::duration_cast<std::chrono::seconds>(now - stuck->due);
  return "a call (" + stuck->command + ") is at work " + std::to_string(late.count()) +
         " s after its deadline";
}

void CallMetrics::WriteAtWork(service::MetricsText& text) const {
  constexpr const char* kName = "kuryr_daemon_requests_in_progress";
  // A series that is missing would look like one that nobody collects.
  std::map<std::string, size_t> at_work = {{kUnknown, 0}};
  for (const Command command :
       {Command::kAdd, Command::kDel, Command::kCheck, Command::kGc, Command::kStatus})
    at_work[ToString(command)] = 0;
  for (const Work& work : running_) ++at_work[work.command];
  text.Head(kName, "gauge", "Calls of the plugin at work.");
  for (const auto& [command, count] : at_work)
    text.Sample(kName, {{"command", command}}, static_cast<double>(count));
}

void CallMetrics::WriteTo(service::MetricsText& text) const {
  constexpr const char* kCalls = "kuryr_daemon_request_duration_seconds";
  constexpr const char* kStages = "kuryr_daemon_stage_duration_seconds";
  const MutexLock lock(mutex_);
  WriteAtWork(text);
  text.Head(kCalls, "histogram", "How long calls took; code is their CNI code, 0 for success.");
  for (const auto& [key, histogram] : ended_) {
    const auto& [command, error] = key;
    const std::string code = std::to_string(error);
    histogram.WriteTo(text, kCalls, {{"command", command}, {"code", code}});
  }
  text.Head(kStages, "histogram", "How long the stages of calls took; code is the call's.");
  for (const auto& [key, histogram] : stages_) {
    const auto& [command, stage, error] = key;
    const std::string code = std::to_string(error);
    histogram.WriteTo(text, kStages,
                      {{"command", command}, {"stage", NameOf(stage)}, {"code", code}});
  }
}

}  // namespace kuryr::cni
