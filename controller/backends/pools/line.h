#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/backends/backend.h"
#include "controller/backends/pools/number.h"

namespace kuryr::controller::pools {

/// The owners that wait for a number of one set, in the order in which they came. As many are
/// called as numbers are free. While none is free, the first owner is called for the time when the
/// next one is. Not thread-safe.
class Line {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr TimePoint kNever = TimePoint::max();
  /// A called owner that could have had a number and did not ask in this time loses its place.
  static constexpr std::chrono::minutes kPatience{2};

  /// The state of the set.
  struct Stock {
    Number free = 0;          ///< numbers that an owner can get now
    TimePoint next = kNever;  ///< when there is one more
  };

  [[nodiscard]] bool empty() const noexcept { return seqs_.empty(); }
  /// Whether a free number is for this owner: no owner before it waits for that number.
  [[nodiscard]] bool MayTake(const std::string& owner_id, Number free) const;
  /// The owner got no number, and keeps its place if it has one. Returns when it should ask again;
  /// kNever: it will be called. A called owner that needs more than is free leaves the line.
  TimePoint Wait(const Owner& owner, const Stock& stock);
  void Leave(const std::string& owner_id);
  /// The owners to wake now. An owner is returned once per change of stock.
  [[nodiscard]] std::vector<Owner> Call(const Stock& stock, TimePoint now);

 private:
  struct Place {
    Owner owner;
    TimePoint comes = kNever;  ///< when a called owner should ask again
  };
  using Places = std::map<uint64_t, Place>;  ///< by order of arrival

  std::unordered_map<std::string, uint64_t> seqs_;  ///< all owners, by id
  Places called_;
  Places waiting_;
  uint64_t next_ = 0;
};

}  // namespace kuryr::controller::pools
