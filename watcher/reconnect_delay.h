#pragma once

#include <chrono>
#include <optional>

#include "base/backoff.h"
#include "watcher/watch_metrics.h"

namespace kuryr::watcher {

/// How one try to watch went.
struct WatchTry {
  ReconnectReason end = ReconnectReason::kEnded;
  WatchMetrics::Clock::duration lasted{};
  bool useful = false;   ///< an event came; a list is not enough
  bool passing = false;  ///< refused, and not yet for long: likely to mend itself
  std::optional<std::chrono::seconds> retry_after;
};

/// How long to wait before the next try: not at all after one that ended in order, or expired once,
/// and lasted a second; else the backoff, which only what was useful or ended in order resets, and
/// not less than the server's Retry-After, of which at most two minutes count; after a passing one
/// without it two seconds at most. So two tries begin at least 0.5 s apart. A resource that the
/// server does not have is asked for after kLeastAbsent, then after four times as long each, at
/// most kMostAbsent. Not thread-safe.
class ReconnectDelay {
 public:
  static constexpr std::chrono::seconds kLeastAbsent{2};
  static constexpr std::chrono::minutes kMostAbsent{5};

  [[nodiscard]] std::chrono::milliseconds After(const WatchTry& last);
  /// The next absence is as the first.
  void ForgetAbsence() { absent_ = kLeastAbsent; }

 private:
  std::chrono::seconds absent_ = kLeastAbsent;  ///< after the next try that finds no resource
  Backoff backoff_;
  bool expired_ = false;  ///< the try before, too, and nothing useful came since
};

}  // namespace kuryr::watcher
