#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/thread_annotations.h"
#include "watcher/watch_event.h"

namespace kuryr::watcher {

/// The reason why a watch was opened again.
enum class ReconnectReason {
  kEnded,         ///< by the server, in order
  kExpired,       ///< 410: the version asked for is no longer there
  kUnauthorized,  ///< 401
  kRefused,       ///< any other answer than 200
  kUnavailable,   ///< no connection, or one that broke off or fell silent
  kUntrusted,     ///< certificate, key or token
  kAbsent,        ///< 404 of a resource that the server need not have
};
inline constexpr size_t kReconnectReasons = 7;
inline constexpr std::array<const char*, kReconnectReasons> kReconnectReasonNames = {
    "ended", "expired", "unauthorized", "refused", "unavailable", "untrusted", "absent"};

/// Counters of one watch since its start; they only grow.
struct WatchMetrics {
  using Clock = std::chrono::steady_clock;

  uint64_t connects = 0;                                 ///< watches opened, or tried to
  std::array<uint64_t, kReconnectReasons> reconnects{};  ///< by ReconnectReason
  uint64_t lists = 0;                          ///< complete ones; all but the first are relists
  std::array<uint64_t, kEventTypes> events{};  ///< lines by EventType, before the diff
  uint64_t bytes = 0;                          ///< of watches, uncompressed
  uint64_t bad_lines = 0;                      ///< skipped lines and items: malformed or too long
  uint64_t handler_errors = 0;                 ///< events whose handler threw
  Clock::time_point last_event;  ///< arrival of the last line; the epoch before the first
  Clock::duration lag{};         ///< of the last line: from its arrival to its handlers' return
  /// The time since which every try has failed; empty while a watch is open or has just ended in
  /// order. After two watches whose versions were gone, a watch counts as open from its first event
  /// or bookmark.
  std::optional<Clock::time_point> failing_since;
};

/// "pods" of "/api/v1/pods?fieldSelector=...".
[[nodiscard]] inline std::string ResourceOf(const std::string& path) {
  const std::string plain = path.substr(0, path.find('?'));
  return plain.substr(plain.rfind('/') + 1);
}

/// The metrics of one watch, written by its thread and read by any.
class SharedMetrics {
 public:
  template <typename Change>
  void Update(const Change& change) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    change(metrics_);
  }
  [[nodiscard]] WatchMetrics Read() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return metrics_;
  }

 private:
  mutable Mutex mutex_;
  WatchMetrics metrics_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::watcher
