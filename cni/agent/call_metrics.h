#pragma once

#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "cni/commands/stage_observer.h"
#include "cni/protocol/environment.h"
#include "cni/protocol/error.h"
#include "service/histogram.h"
#include "service/metrics_text.h"

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
  class Running : public StageObserver {
   public:
    explicit Running(CallMetrics& all);
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() override;

    /// The kind of the call, once it is known, and the time that it may take.
    void SetCommand(Command command, Clock::duration longest);
    void SetError(ErrorCode code) { error_ = static_cast<int>(code); }
    void OnStage(Stage stage) noexcept override { stages_.emplace_back(stage, Clock::now()); }
    [[nodiscard]] Clock::time_point begin() const { return begin_; }

   private:
    CallMetrics& all_;
    const Clock::time_point begin_;
    const std::list<Work>::iterator work_;
    std::vector<std::pair<Stage, Clock::time_point>> stages_;  ///< and when each began
    int error_ = 0;
  };

  /// A call that is at work long after its deadline: its thread hangs. nullopt when there is none.
  [[nodiscard]] std::optional<std::string> WhyStuck(Clock::time_point now) const EXCLUDES(mutex_);
  void WriteTo(service::MetricsText& text) const EXCLUDES(mutex_);

 private:
  void WriteAtWork(service::MetricsText& text) const REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::list<Work> running_ GUARDED_BY(mutex_);
  /// By command and error.
  std::map<std::pair<std::string, int>, service::Histogram> ended_ GUARDED_BY(mutex_);
  /// By command, stage and error.
  std::map<std::tuple<std::string, Stage, int>, service::Histogram> stages_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
