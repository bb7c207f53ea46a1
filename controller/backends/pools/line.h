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

/// Who waits for a number of one set that has none free, in the order in which they came. As many
/// as are free are called; while none is, the first one is, and comes when a rest ends. Not
/// thread-safe.
class Line {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr TimePoint kNever = TimePoint::max();
  /// Who was called, could have had a number for so long, and has not come, waits no more.
  static constexpr std::chrono::minutes kPatience{2};

  /// What the set has.
  struct Stock {
    Number free = 0;
    TimePoint rest_end = kNever;  ///< the next one
  };

  [[nodiscard]] bool empty() const noexcept { return seqs_.empty(); }
  /// Whether one of those that are free is for this owner, and for nobody who came before.
  [[nodiscard]] bool MayTake(const std::string& owner_id, Number free) const;
  /// The owner has got none, and keeps the place that it has. When it shall come again; kNever: it
  /// will be called. Who was called and needs more than is free does not wait.
  TimePoint Wait(const Owner& owner, const Stock& stock);
  void Leave(const std::string& owner_id);
  /// Who is to come now; nobody twice for the same reason.
  [[nodiscard]] std::vector<Owner> Call(const Stock& stock, TimePoint now);

 private:
  struct Place {
    Owner owner;
    TimePoint comes = kNever;  ///< of who was called
  };
  using Places = std::map<uint64_t, Place>;  ///< by the order in which they came

  std::unordered_map<std::string, uint64_t> seqs_;  ///< of all, by the owner's id
  Places called_;
  Places waiting_;
  uint64_t next_ = 0;
};

}  // namespace kuryr::controller::pools
