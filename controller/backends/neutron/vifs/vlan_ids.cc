#include "controller/backends/neutron/vifs/vlan_ids.h"

namespace kuryr::controller::neutron {

std::optional<uint16_t> VlanIds::Take(const std::string& trunk, const std::set<uint16_t>& used) {
  const MutexLock lock(mutex_);
  Taken& taken = trunks_[trunk];
  for (uint16_t step = 0; step < kMost; ++step) {
    const auto id = static_cast<uint16_t>((taken.last + step) % kMost + 1);
    if (used.contains(id) || !taken.ids.insert(id).second) continue;
    taken.last = id;
    return id;
  }
  return std::nullopt;
}

void VlanIds::Return(const std::string& trunk, uint16_t id) {
  const MutexLock lock(mutex_);
  trunks_[trunk].ids.erase(id);
}

}  // namespace kuryr::controller::neutron
