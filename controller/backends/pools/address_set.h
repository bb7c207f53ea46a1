#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "controller/backends/pools/intervals.h"

namespace kuryr::controller::pools {

using TimePoint = std::chrono::steady_clock::time_point;

/// The addresses that a pool may give away; each is free, taken or resting. Next-fit: a released
/// address comes back as late as possible. `seed` chooses the first one. A resting address is spare
/// for the last part of its rest, `spare_time`: it is given when no address is free. Memory follows
/// the number of gaps, not of addresses. Serves VLAN ids as well. Not thread-safe.
class AddressSet {
 public:
  AddressSet(Intervals all, Number seed,
             std::chrono::steady_clock::duration spare_time = std::chrono::seconds(0));

  /// The next free address, else the spare one that has rested longest; nullopt: there is neither.
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

  /// The end of the number's rest.
  [[nodiscard]] std::optional<TimePoint> RestOf(Number number) const;
  /// When the next resting number becomes spare.
  [[nodiscard]] std::optional<TimePoint> NextSpare() const;

  /// How many numbers TakeNext can give: the free and the spare ones.
  [[nodiscard]] Number available(TimePoint now);
  [[nodiscard]] const Intervals& all() const noexcept { return all_; }
  [[nodiscard]] Number size() const noexcept { return all_.size(); }
  [[nodiscard]] size_t resting(TimePoint now) const;
  [[nodiscard]] Number taken() const noexcept { return all_.size() - free_.size() - resting(); }

 private:
  struct Resting {
    TimePoint until;
    uint64_t by = 0;
    bool taken = false;  ///< taken again before its rest was over
  };

  using RestEnd = std::pair<TimePoint, Number>;

  /// Frees the numbers whose rest is over, and notes those that have become spare.
  void Wake(TimePoint now);
  void Forget(const RestEnd& rest);
  [[nodiscard]] size_t resting() const noexcept { return young_.size() + spare_.size(); }

  Intervals all_;
  Intervals free_;
  std::chrono::steady_clock::duration spare_time_;
  std::map<Number, Resting> resting_;
  std::set<RestEnd> young_;    ///< entries of resting_ that are not taken and not spare yet
  std::set<RestEnd> spare_;    ///< entries of resting_ that are not taken and spare
  std::deque<RestEnd> queue_;  ///< by end; an entry may be outdated
  Number cursor_ = 0;
};

}  // namespace kuryr::controller::pools
