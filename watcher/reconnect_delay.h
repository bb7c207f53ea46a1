#pragma once

#include <chrono>
#include <optional>
#include <random>

#include "base/backoff.h"
#include "watcher/watch_metrics.h"

namespace kuryr::watcher {

/// The outcome of one try to watch.
struct WatchTry {
  ReconnectReason end = ReconnectReason::kEnded;
  WatchMetrics::Clock::duration lasted{};
  bool useful = false;      ///< an event came; a list is not enough
  bool passing = false;     ///< refused, and not yet for long: likely to mend itself
  bool falls_back = false;  ///< the next list is WatchStream's fallback
  std::optional<std::chrono::seconds> retry_after;
};

/// Computes the wait before the next try. A try that lasted a second, and ended in order or expired
/// once, has no wait. Any other try waits for the backoff, which a useful try or an end in order
/// resets. The wait is at least the server's Retry-After, up to two minutes. After a passing
/// failure without Retry-After it is at most two seconds. So two tries begin at least 0.5 s apart.
/// An absent resource is tried again after kLeastAbsent, then each time after four times as long,
/// at most kMostAbsent. The first fallback waits a random time up to `spread`, because many nodes
/// may be due at one time. Later fallbacks wait longer and longer, from `spread` to ten times that.
/// Not thread-safe.
class ReconnectDelay {
 public:
  explicit ReconnectDelay(std::chrono::seconds spread = kSpread)
      : spread_(spread),
        fallback_(spread, kMostSpreads * spread_),
        random_(std::random_device{}()) {}

  static constexpr std::chrono::seconds kSpread{30};
  static constexpr std::chrono::seconds kLeastAbsent{2};
  static constexpr std::chrono::minutes kMostAbsent{5};

  [[nodiscard]] std::chrono::milliseconds After(const WatchTry& last);
  /// Treats the next absence as the first.
  void ForgetAbsence() { absent_ = kLeastAbsent; }

 private:
  [[nodiscard]] std::chrono::milliseconds BeforeFallback();
  void Reset();

  static constexpr int kMostSpreads = 10;
  const std::chrono::milliseconds spread_;
  Backoff fallback_;
  std::minstd_rand random_;
  bool fell_back_ = false;                      ///< and nothing useful came since
  std::chrono::seconds absent_ = kLeastAbsent;  ///< after the next try that finds no resource
  Backoff backoff_;
  bool expired_ = false;  ///< the try before also expired, and nothing useful came since
};

/// Tracks how long a server has only refused requests (401, 403, untrusted). A newly started API
/// server answers 403 until it has read the roles. A token or certificate may also have just been
/// replaced. Not thread-safe.
class Refusals {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Refusals(std::chrono::seconds grace) : grace_(grace) {}

  /// Counts a refused try.
  void Add(Clock::time_point now);
  /// Forgets the refusals after a try that ended otherwise.
  void Clear() { *this = Refusals(grace_); }

  [[nodiscard]] unsigned tries() const noexcept { return tries_; }
  /// True after three tries and the grace: this is no longer a server's start.
  [[nodiscard]] bool lasted() const noexcept { return lasted_; }

 private:
  std::chrono::seconds grace_;
  unsigned tries_ = 0;
  bool lasted_ = false;
  Clock::time_point first_;
};

}  // namespace kuryr::watcher
