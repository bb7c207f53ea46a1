#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/backends/pools/address_set.h"
#include "controller/backends/pools/line.h"

namespace kuryr::controller::pools {

/// The lines of all sets; an owner waits in at most one. A set without waiting owners takes no
/// memory. Not thread-safe.
class Lines {
 public:
  /// As Line::MayTake.
  [[nodiscard]] bool MayTake(AddressSet& set, const std::string& owner_id, TimePoint now) const;
  /// As Line::Wait. The owner leaves the line of another set.
  TimePoint Wait(AddressSet& set, const Owner& owner, TimePoint now);
  void Leave(const std::string& owner_id);
  /// The set is about to be destroyed. Its owners leave the line, and ask again by themselves.
  void Drop(AddressSet& set);
  /// The owners to wake now; to be called after every change of any set.
  [[nodiscard]] std::vector<Owner> Call(TimePoint now);

  [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }

 private:
  std::map<AddressSet*, Line> lines_;                 ///< the sets outlive it; no line is empty
  std::unordered_map<std::string, AddressSet*> set_;  ///< the set an owner waits for, by its id
};

}  // namespace kuryr::controller::pools
