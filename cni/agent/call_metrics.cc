#include "cni/agent/call_metrics.h"

#include <algorithm>

namespace kuryr::cni {
namespace {

/// Undoing what was done has time of its own, and Open vSwitch may be slow.
constexpr std::chrono::seconds kGrace{120};

}  // namespace

CallMetrics::Running::Running(CallMetrics& all)
    : all_(all), begin_(Clock::now()), work_([&] {
        const MutexLock lock(all.mutex_);
        return all.running_.insert(all.running_.end(), {"unknown", begin_, begin_});
      }()) {}

CallMetrics::Running::~Running() {
  const MutexLock lock(all_.mutex_);
  all_.Count(*work_, error_);
  all_.running_.erase(work_);
}

void CallMetrics::Running::SetCommand(Command command, Clock::duration longest) {
  const MutexLock lock(all_.mutex_);
  work_->command = ToString(command);
  work_->due = work_->begin + longest;
}

void CallMetrics::Count(const Work& work, int error) {
  const double seconds = std::chrono::duration<double>(Clock::now() - work.begin).count();
  Histogram& histogram = ended_[{work.command, error}];
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  if (bound != kBounds.end()) ++histogram.within.at(static_cast<size_t>(bound - kBounds.begin()));
  ++histogram.count;
  histogram.sum += seconds;
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

void CallMetrics::WriteTo(MetricsText& text) const {
  constexpr const char* kName = "kuryr_cni_request_duration_seconds";
  const MutexLock lock(mutex_);
  text.Metric("kuryr_cni_requests_running", "gauge", "Calls of the plugin at work.",
              static_cast<double>(running_.size()));
  text.Head(kName, "histogram", "How long calls took; error is their CNI code, 0 for success.");
  for (const auto& [key, histogram] : ended_) {
    const auto& [command, code] = key;
    const std::string error = std::to_string(code);
    const std::string name = kName;
    uint64_t within = 0;
    for (size_t i = 0; i < kBounds.size(); ++i) {
      within += histogram.within.at(i);
      text.Sample(
          name + "_bucket",
          {{"command", command}, {"error", error}, {"le", MetricsText::Number(kBounds.at(i))}},
          static_cast<double>(within));
    }
    const auto count = static_cast<double>(histogram.count);
    text.Sample(name + "_bucket", {{"command", command}, {"error", error}, {"le", "+Inf"}}, count);
    text.Sample(name + "_sum", {{"command", command}, {"error", error}}, histogram.sum);
    text.Sample(name + "_count", {{"command", command}, {"error", error}}, count);
  }
}

}  // namespace kuryr::cni
