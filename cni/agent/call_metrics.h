#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/thread_annotations.h"
#include "cni/agent/metrics_text.h"
#include "cni/protocol/environment.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {

/// The plugin's calls: those at work, and how long those took that have ended. Thread-safe.
class CallMetrics {
 public:
  using Clock = std::chrono::steady_clock;

 private:
  struct Work {
    std::string command;
    Clock::time_point begin;
    Clock::time_point due;
  };

 public:
  /// A call registers itself for its lifetime.
  class Running {
   public:
    explicit Running(CallMetrics& all);
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running();

    /// What it turned out to be, and the time that it may take.
    void SetCommand(Command command, Clock::duration longest);
    void SetError(ErrorCode code) { error_ = static_cast<int>(code); }
    [[nodiscard]] Clock::time_point begin() const { return begin_; }

   private:
    CallMetrics& all_;
    const Clock::time_point begin_;
    const std::list<Work>::iterator work_;
    int error_ = 0;
  };

  /// A call that is at work long after its deadline: its thread hangs. nullopt when there is none.
  [[nodiscard]] std::optional<std::string> WhyStuck(Clock::time_point now) const EXCLUDES(mutex_);
  void WriteTo(MetricsText& text) const EXCLUDES(mutex_);

 private:
  /// Seconds: from a question that the registry answers to an ADD that waits for Neutron.
  static constexpr std::array kBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                         0.25,   0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};
  struct Histogram {
    std::array<uint64_t, kBounds.size()> within{};  ///< of each bound, and of no lower one
    uint64_t count = 0;
    double sum = 0;
  };

  void Count(const Work& work, int error) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::list<Work> running_ GUARDED_BY(mutex_);
  std::map<std::pair<std::string, int>, Histogram> ended_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
