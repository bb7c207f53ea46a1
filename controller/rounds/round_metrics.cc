#include "controller/rounds/round_metrics.h"

namespace kuryr::controller {

void RoundMetrics::CountPlanned(Clock::duration since_seen) {
  const MutexLock lock(mutex_);
  planned_.Observe(since_seen);
}

void RoundMetrics::CountActive(Clock::duration since_seen) {
  const MutexLock lock(mutex_);
  active_.Observe(since_seen);
}

void RoundMetrics::CountReleased() {
  const MutexLock lock(mutex_);
  ++released_;
}

void RoundMetrics::CountReplanned() {
  const MutexLock lock(mutex_);
  ++replanned_;
}

void RoundMetrics::CountConflict() {
  const MutexLock lock(mutex_);
  ++conflicts_;
}

void RoundMetrics::CountAsked(Clock::duration time, bool failed) {
  const MutexLock lock(mutex_);
  asked_.Observe(time);
  asked_in_vain_ += failed ? 1 : 0;
}

void RoundMetrics::WriteTo(service::MetricsText& text) const {
  const MutexLock lock(mutex_);
  text.Head("kuryr_controller_plan_duration_seconds", "histogram",
            "Time from first seeing a scheduled pod until its plan is written.");
  planned_.WriteTo(text, "kuryr_controller_plan_duration_seconds", {});
  text.Head("kuryr_controller_active_duration_seconds", "histogram",
            "Time from first seeing a scheduled pod until its plan is marked active.");
  active_.WriteTo(text, "kuryr_controller_active_duration_seconds", {});
  text.Head("kuryr_controller_backend_duration_seconds", "histogram",
            "How long the backend took for VIFs.");
  asked_.WriteTo(text, "kuryr_controller_backend_duration_seconds", {});
  text.Metric("kuryr_controller_backend_errors_total", "counter", "Requests for VIFs that failed.",
              static_cast<double>(asked_in_vain_));
  text.Metric("kuryr_controller_plans_released_total", "counter", "Plans taken away from pods.",
              static_cast<double>(released_));
  text.Metric("kuryr_controller_plans_replaced_total", "counter",
              "Plans that got other addresses, since another pod had them, too.",
              static_cast<double>(replanned_));
  text.Metric("kuryr_controller_write_conflicts_total", "counter",
              "Writes that met another one (409) and were made again.",
              static_cast<double>(conflicts_));
}

}  // namespace kuryr::controller
