#include "cni/agent/policy/set_addresses.h"

#include <utility>

namespace kuryr::cni {

void SetAddresses::SetSets(const std::string& uid, const std::set<policy::PodSet>& sets) {
  const auto known = pods_.find(uid);
  Replace(uid,
          {.sets = sets,
           .addresses = known == pods_.end() ? std::set<IpAddress>() : known->second.addresses});
}

void SetAddresses::SetAddressesOf(const std::string& uid, const std::set<IpAddress>& addresses) {
  const auto known = pods_.find(uid);
  Replace(uid, {.sets = known == pods_.end() ? std::set<policy::PodSet>() : known->second.sets,
                .addresses = addresses});
}

void SetAddresses::Replace(const std::string& uid, Pod after) {
  const auto known = pods_.find(uid);
  const Pod before = known == pods_.end() ? Pod() : known->second;
  if (before.sets == after.sets && before.addresses == after.addresses) return;
  for (const policy::PodSet& set : after.sets) {
    for (const IpAddress& address : after.addresses) {
      if (++sets_[set][address] == 1) changed_.insert(set);
    }
  }
  for (const policy::PodSet& set : before.sets) {
    for (const IpAddress& address : before.addresses) {
      Counts& counts = sets_.at(set);
      if (--counts.at(address) > 0) continue;
      counts.erase(address);
      changed_.insert(set);
      if (counts.empty()) {
        sets_.erase(set);
        break;
      }
    }
  }
  if (after.sets.empty() && after.addresses.empty()) {
    pods_.erase(uid);
  } else {
    pods_.insert_or_assign(uid, std::move(after));
  }
}

std::vector<IpAddress> SetAddresses::Of(const policy::PodSet& set) const {
  std::vector<IpAddress> addresses;
  const auto counts = sets_.find(set);
  if (counts == sets_.end()) return addresses;
  addresses.reserve(counts->second.size());
  for (const auto& [address, count] : counts->second) addresses.push_back(address);
  return addresses;
}

std::set<policy::PodSet> SetAddresses::TakeChanged() { return std::exchange(changed_, {}); }

}  // namespace kuryr::cni
