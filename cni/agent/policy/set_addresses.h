#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ip.h"
#include "policy/compiled_policy.h"

namespace kuryr::cni {

/// The addresses of sets of pods, from the sets and the addresses of each pod. Not thread-safe.
class SetAddresses {
 public:
  /// The pod of this UID is in these sets, or has these addresses, from now on.
  void SetSets(const std::string& uid, const std::set<policy::PodSet>& sets);
  void SetAddressesOf(const std::string& uid, const std::set<IpAddress>& addresses);

  /// Sorted, each once; none of a set that has no pod.
  [[nodiscard]] std::vector<IpAddress> Of(const policy::PodSet& set) const;
  /// The sets that have other addresses than at the last call.
  [[nodiscard]] std::set<policy::PodSet> TakeChanged();
  [[nodiscard]] bool has_changed() const noexcept { return !changed_.empty(); }

 private:
  struct Pod {
    std::set<policy::PodSet> sets;
    std::set<IpAddress> addresses;
  };
  using Counts = std::map<IpAddress, size_t>;  ///< how many pods of the set have the address

  void Replace(const std::string& uid, Pod after);

  std::map<std::string, Pod> pods_;
  std::map<policy::PodSet, Counts> sets_;
  std::set<policy::PodSet> changed_;
};

}  // namespace kuryr::cni
