#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "service/metrics_text.h"

namespace kuryr::service {

/// A Prometheus histogram of durations. Not thread-safe.
class Histogram {
 public:
  void Observe(std::chrono::steady_clock::duration time);
  /// Writes the samples of metric `name` with these labels.
  void WriteTo(MetricsText& text, const std::string& name, const MetricsText::Labels& labels) const;

 private:
  /// The bounds in seconds: from a call that the agent answers from memory to an ADD that waits for
  /// Neutron.
  static constexpr std::array kBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                         0.25,   0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};

  std::array<uint64_t, kBounds.size()> within_{};  ///< of each bound, and of no lower one
  uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace kuryr::service
