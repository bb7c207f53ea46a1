#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>

#include "base/thread_annotations.h"

namespace kuryr::controller::neutron {

/// How many requests are under way at a time, and how many begin in a second: those of the last
/// second that did not begin may follow at once. Whoever is too early waits. Thread-safe.
class RequestGate {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    uint32_t at_a_time = 1;
    uint32_t a_second = 0;       ///< 0: no limit
    Clock::duration patience{};  ///< how long a request waits for its turn
  };
  enum class Turn { kMine, kTooLate, kStopped };
  enum class Rank { kUsual, kLast };  ///< kLast: whoever else waits comes first

  explicit RequestGate(const Limits& limits) : limits_(limits) {}
  RequestGate(const RequestGate&) = delete;
  RequestGate& operator=(const RequestGate&) = delete;

  /// After kMine the request begins, and Leave() follows it.
  [[nodiscard]] Turn Enter(Rank rank = Rank::kUsual) EXCLUDES(mutex_);
  void Leave() EXCLUDES(mutex_);
  /// How many of that rank wait for their turn.
  [[nodiscard]] uint32_t waiting(Rank rank) EXCLUDES(mutex_);
  /// Wakes all that wait, for good.
  void Stop() EXCLUDES(mutex_);

 private:
  [[nodiscard]] Turn Wait(Rank rank) REQUIRES(mutex_);
  /// Whether a request may begin now; else when it is worth looking again.
  [[nodiscard]] bool MayBegin(Clock::time_point now, Clock::time_point& again) REQUIRES(mutex_);

  const Limits limits_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  uint32_t under_way_ GUARDED_BY(mutex_) = 0;
  std::map<Rank, uint32_t> waiting_ GUARDED_BY(mutex_);
  Clock::time_point next_ GUARDED_BY(mutex_);  ///< when the rate alone would let one begin
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace kuryr::controller::neutron
