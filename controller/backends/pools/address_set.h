#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "controller/backends/pools/intervals.h"

namespace kuryr::controller::pools {

using TimePoint = std::chrono::steady_clock::time_point;

/// The addresses that may be given away, and which of them are free, taken or resting. Next-fit: an
/// address comes back as late as it can, and the first one stands at a place that `seed` chooses.
/// Costs what its gaps cost, not what it holds. Serves VLAN ids as well. Not thread-safe.
class AddressSet {
 public:
  AddressSet(Intervals all, Number seed);

  /// The next free one; nullopt when none is.
  std::optional<Number> TakeNext(TimePoint now);

  enum class Taken {
    kYes,
    kNotHere,  ///< it is none of these
    kNotFree,  ///< taken already
    kResting,  ///< see RestOf
  };
  /// This one. One that rests is taken by who had it last (`by`).
  Taken Take(Number number, TimePoint now, uint64_t by);
  /// Whatever its state is; another number is passed over.
  void TakeAnyway(Number number);

  /// Of a number that is taken; another one is passed over. GiveBack makes it what it was before,
  /// and Rest free at `until`, which is never before the `until` of an earlier call.
  void GiveBack(Number number);
  void Rest(Number number, TimePoint until, uint64_t by);

  /// Until when the number rests, and the first of all.
  [[nodiscard]] std::optional<TimePoint> RestOf(Number number) const;
  [[nodiscard]] std::optional<TimePoint> NextRestEnd() const;

  [[nodiscard]] Number free(TimePoint now);
  [[nodiscard]] const Intervals& all() const noexcept { return all_; }
  [[nodiscard]] Number size() const noexcept { return all_.size(); }
  [[nodiscard]] size_t resting(TimePoint now) const;
  [[nodiscard]] Number taken() const noexcept { return all_.size() - free_.size() - resting_size_; }

 private:
  struct Resting {
    TimePoint until;
    uint64_t by = 0;
    bool taken = false;  ///< before its rest was over
  };

  /// Frees what has rested.
  void Wake(TimePoint now);

  Intervals all_;
  Intervals free_;
  std::map<Number, Resting> resting_;
  size_t resting_size_ = 0;                         ///< of those that are not taken
  std::deque<std::pair<TimePoint, Number>> queue_;  ///< by time; some rest no more
  Number cursor_ = 0;
};

}  // namespace kuryr::controller::pools
