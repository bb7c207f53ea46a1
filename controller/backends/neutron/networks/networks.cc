#include "controller/backends/neutron/networks/networks.h"

#include <algorithm>

#include "controller/backends/backend.h"

namespace kuryr::controller::neutron {
namespace {

/// nullptr where it is not there, or not fresh.
template <typename Cache>
auto* FindFresh(Cache& cache, const std::string& id) {
  const auto known = cache.find(id);
  const bool fresh = known != cache.end() && Networks::Clock::now() < known->second.until;
  return fresh ? &known->second.value : nullptr;
}

}  // namespace

const Subnet* PodNetwork::Find(const std::string& id) const {
  const auto found = std::find_if(subnets.begin(), subnets.end(),
                                  [&](const Subnet& subnet) { return subnet.id == id; });
  return found == subnets.end() ? nullptr : &*found;
}

const Subnet* PodNetwork::FindFor(const IpAddress& address) const {
  const auto found = std::find_if(subnets.begin(), subnets.end(), [&](const Subnet& subnet) {
    return subnet.cidr.Contains(address);
  });
  return found == subnets.end() ? nullptr : &*found;
}

bool PodNetwork::HasSlaac() const {
  return std::any_of(subnets.begin(), subnets.end(),
                     [](const Subnet& subnet) { return subnet.is_slaac; });
}

PodNetwork Networks::Find(const std::vector<std::string>& subnet_ids) {
  PodNetwork found;
  for (const std::string& id : subnet_ids) {
    found.subnets.push_back(FindSubnet(id));
    if (found.subnets.back().network_id != found.subnets.front().network_id)
      throw PlanError(PlanError::Kind::kRefused, "[neutron_defaults] pod_subnet: subnet " + id +
                                                     " is of another network than " +
                                                     found.subnets.front().id);
  }
  found.network = FindNetwork(found.subnets.at(0).network_id);
  return found;
}

void Networks::Forget() {
  const MutexLock lock(mutex_);
  subnets_.clear();
  networks_.clear();
}

Subnet Networks::FindSubnet(const std::string& id) {
  {
    const MutexLock lock(mutex_);
    if (const Subnet* known = FindFresh(subnets_, id)) return *known;
  }
  Subnet subnet = api_.GetSubnet(id);
  const MutexLock lock(mutex_);
  subnets_.insert_or_assign(id, Known<Subnet>{subnet, Clock::now() + kFresh});
  return subnet;
}

Network Networks::FindNetwork(const std::string& id) {
  {
    const MutexLock lock(mutex_);
    if (const Network* known = FindFresh(networks_, id)) return *known;
  }
  Network network = api_.GetNetwork(id);
  const MutexLock lock(mutex_);
  networks_.insert_or_assign(id, Known<Network>{network, Clock::now() + kFresh});
  return network;
}

}  // namespace kuryr::controller::neutron
