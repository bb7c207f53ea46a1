#include "controller/backends/neutron/networks/networks.h"

#include <algorithm>
#include <utility>

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

PodNetwork Networks::Find(const std::vector<std::string>& subnet_ids) {
  std::vector<Subnet> subnets;
  for (const std::string& id : subnet_ids) {
    subnets.push_back(FindSubnet(id));
    if (subnets.back().network_id != subnets.front().network_id)
      throw PlanError(PlanError::Kind::kRefused, "[neutron_defaults] pod_subnet: subnet " + id +
                                                     " is of another network than " +
                                                     subnets.front().id);
  }
  PodNetwork found = FindNetwork(subnets.at(0).network_id);
  found.subnets = std::move(subnets);
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

PodNetwork Networks::FindNetwork(const std::string& id) {
  {
    const MutexLock lock(mutex_);
    if (const PodNetwork* known = FindFresh(networks_, id)) return *known;
  }
  PodNetwork network{.network = api_.GetNetwork(id), .subnets = {}};
  const std::vector<Subnet> all = api_.ListSubnets(id);
  network.has_slaac =
      std::any_of(all.begin(), all.end(), [](const Subnet& subnet) { return subnet.is_slaac; });
  const MutexLock lock(mutex_);
  networks_.insert_or_assign(id, Known<PodNetwork>{network, Clock::now() + kFresh});
  return network;
}

}  // namespace kuryr::controller::neutron
