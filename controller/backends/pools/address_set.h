#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "controller/backends/pools/intervals.h"

namespace kuryr::controller::pools {

using TimePoint = std::chrono::steady_clock::time_point;

/// The addresses that a pool may give away; each is free, taken or resting. Next-fit: a released
/// address comes back as late as possible. `seed` chooses the first one. Memory follows the number
/// of gaps, not of addresses. Serves VLAN ids as well. Not thread-safe.
class AddressSet {
 public:
  AddressSet(Intervals all, Number seed);

  /// The next free address; nullopt when none is free.
  std::optional<Number> TakeNext(TimePoint now);

  enum class Taken {
    kYes,
    kNotHere,  ///< the set does not have it
    kNotFree,  ///< taken already
    kResting,  ///< see RestOf
  };
  /// Takes `number`. While it rests, only its last owner (`by`) may take it.
  Taken Take(Number number, TimePoint now, uint64_t by);
  /// Takes the number from any state. A number that the set does not have is passed over.
  void TakeAnyway(Number number);

  /// GiveBack undoes a Take: the number is free or rests, as before. Rest makes it free at `until`,
  /// which never goes back from call to call. Both pass over numbers that are not taken.
  void GiveBack(Number number);
  void Rest(Number number, TimePoint until, uint64_t by);

  /// The end of the number's rest, and the first end of all rests.
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
    bool taken = false;  ///< taken again before its rest was over
  };

  /// Frees the numbers whose rest is over.
  void Wake(TimePoint now);

  Intervals all_;
  Intervals free_;
  std::map<Number, Resting> resting_;
  size_t resting_size_ = 0;                         ///< entries of resting_ that are not taken
  std::deque<std::pair<TimePoint, Number>> queue_;  ///< by end; an entry may be outdated
  Number cursor_ = 0;
};

}  // namespace kuryr::controller::pools
