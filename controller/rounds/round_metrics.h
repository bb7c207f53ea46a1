#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "base/thread_annotations.h"
#include "service/histogram.h"
#include "service/metrics_text.h"

namespace kuryr::controller {

/// What the rounds have done since the start. Thread-safe.
class RoundMetrics {
 public:
  using Clock = std::chrono::steady_clock;

  /// A plan was written, `since_seen` after its pod was to have one.
  void CountPlanned(Clock::duration since_seen) EXCLUDES(mutex_);
  /// All VIFs of a plan were written as active, `since_seen` after its pod was to have one.
  void CountActive(Clock::duration since_seen) EXCLUDES(mutex_);
  /// Plan and finalizer of a pod were taken away.
  void CountReleased() EXCLUDES(mutex_);
  /// A pod got another plan.
  void CountReplanned() EXCLUDES(mutex_);
  /// A write met another one (409).
  void CountConflict() EXCLUDES(mutex_);
  /// The backend was asked.
  void CountAsked(Clock::duration time, bool failed) EXCLUDES(mutex_);

  void WriteTo(service::MetricsText& text) const EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  service::Histogram planned_ GUARDED_BY(mutex_);
  service::Histogram active_ GUARDED_BY(mutex_);
  service::Histogram asked_ GUARDED_BY(mutex_);
  uint64_t asked_in_vain_ GUARDED_BY(mutex_) = 0;
  uint64_t released_ GUARDED_BY(mutex_) = 0;
  uint64_t replanned_ GUARDED_BY(mutex_) = 0;
  uint64_t conflicts_ GUARDED_BY(mutex_) = 0;
};

}  // namespace kuryr::controller
