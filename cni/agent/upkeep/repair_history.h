#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "binding/difference.h"

namespace kuryr::cni {

/// The repairs of one attachment so far. Says when to stop: something else may undo each of them.
/// Not thread-safe.
class RepairHistory {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Verdict {
    kRepair,
    kGiveUp,  ///< now, for the first time
    kLeave,   ///< given up before
  };

  /// Decides on differences that are all live_safe. A difference that was repaired three times
  /// within a minute is given up for five minutes.
  [[nodiscard]] Verdict Judge(const binding::Differences& found, Clock::time_point now);
  /// Notes that the differences have been repaired.
  void AddRepair(const binding::Differences& found, Clock::time_point now);
  /// Whether these are others than those that were news last, at least a minute ago: a pod may
  /// change its own interface again and again.
  [[nodiscard]] bool IsNews(const binding::Differences& found, Clock::time_point now);
  /// Notes that the attachment is as planned. True when there is nothing more to remember.
  [[nodiscard]] bool Settle(Clock::time_point now);

 private:
  [[nodiscard]] bool IsToldLately(Clock::time_point now) const {
    return told_at_ && now - *told_at_ < std::chrono::minutes(1);
  }

  /// By kind and name of what differed.
  std::map<std::pair<binding::DifferenceKind, std::string>, std::vector<Clock::time_point>>
      repairs_;
  Clock::time_point left_until_;
  bool is_given_up_ = false;
  std::string told_;
  std::optional<Clock::time_point> told_at_;
};

}  // namespace kuryr::cni
