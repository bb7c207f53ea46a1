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
    kWait,    ///< the last repair failed, and the next one is not due yet (WaitAt)
  };

  /// Decides on differences that are all live_safe. A difference that was repaired three times
  /// within a minute is given up for five minutes.
  [[nodiscard]] Verdict Judge(const binding::Differences& found, Clock::time_point now);
  /// Notes that the differences have been repaired.
  void AddRepair(const binding::Differences& found, Clock::time_point now);
  /// Notes that a repair has failed. The next one is due after a second, and after twice as long
  /// from one failure to the next, at most a minute: what a failed repair has changed wakes the
  /// upkeep, too. Returns whether `why` is news: not what was told last, and a minute after that.
  [[nodiscard]] bool AddFailure(const std::string& why, Clock::time_point now);
  /// The time until the next repair is due; zero where none has failed.
  [[nodiscard]] Clock::duration WaitAt(Clock::time_point now) const;
  /// The reason of failures may be gone: the next repair is due at once.
  void EndWait() { due_at_ = {}; }
  /// Whether these are others than those that were news last, at least a minute ago: a pod may
  /// change its own interface again and again.
  [[nodiscard]] bool IsNews(const binding::Differences& found, Clock::time_point now);
  /// Notes that the attachment is as planned. True when there is nothing more to remember.
  [[nodiscard]] bool Settle(Clock::time_point now);

 private:
  /// What was told last, and when.
  struct News {
    [[nodiscard]] bool IsFresh(Clock::time_point now) const {
      return told_at && now - *told_at < std::chrono::minutes(1);
    }
    /// Takes `now_told` as told, where it is news.
    [[nodiscard]] bool Take(const std::string& now_told, Clock::time_point now);

    std::string text;
    std::optional<Clock::time_point> told_at;
  };

  void EndFailures();

  /// By kind and name of what differed.
  std::map<std::pair<binding::DifferenceKind, std::string>, std::vector<Clock::time_point>>
      repairs_;
  Clock::time_point left_until_;
  bool is_given_up_ = false;
  News differences_;
  News failure_;
  int failures_ = 0;  ///< one after the other
  Clock::time_point due_at_;
};

}  // namespace kuryr::cni
