#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/backends/pools/address_set.h"
#include "controller/backends/pools/line.h"

namespace kuryr::controller::pools {

/// The lines before all sets; an owner waits in one of them. Sets that nobody waits for cost
/// nothing. Not thread-safe.
class Lines {
 public:
  /// As Line says.
  [[nodiscard]] bool MayTake(AddressSet& set, const std::string& owner_id, TimePoint now) const;
  /// As Line says; a place before another set is given up.
  TimePoint Wait(AddressSet& set, const Owner& owner, TimePoint now);
  void Leave(const std::string& owner_id);
  /// The set is about to end: who waits for it waits no more, and comes again by itself.
  void Drop(AddressSet& set);
  /// Who is to come now, to be asked after every change of any set.
  [[nodiscard]] std::vector<Owner> Call(TimePoint now);

  [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }

 private:
  std::map<AddressSet*, Line> lines_;                 ///< of sets that live longer; none is empty
  std::unordered_map<std::string, AddressSet*> set_;  ///< that an owner waits for, by its id
};

}  // namespace kuryr::controller::pools
