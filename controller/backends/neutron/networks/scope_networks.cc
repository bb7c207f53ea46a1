#include "controller/backends/neutron/networks/scope_networks.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "base/log.h"
#include "controller/backends/backend.h"

namespace kuryr::controller::neutron {
namespace {

constexpr const char* kOfNeutrons = "network:";

/// Whether a router's interface has the port: a plain, a distributed or a highly available router.
bool IsRouters(const Port& port) {
  return port.device_owner.starts_with("network:router_interface") ||
         port.device_owner == "network:ha_router_replicated_interface";
}

bool HasAll(const std::vector<std::string>& tags, const std::vector<std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& tag) {
    return std::find(tags.begin(), tags.end(), tag) != tags.end();
  });
}

bool IsReady(const std::shared_future<std::vector<std::string>>& made) {
  return made.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

/// Neutron has no better word for it.
NeutronError WithPoolIn(const NeutronError& error, const SubnetPool& pool) {
  return {error.kind(),
          std::string(error.what()) + "; it says so, too, where subnet pool " + pool.id +
              " has no prefix left",
          {.status = error.status(),
           .type = error.type(),
           .retry_after = error.retry_after(),
           .uncertain = error.uncertain()}};
}

}  // namespace

std::string ScopeNetworks::Mark() const { return MarkOf(defaults_) + ": namespace "; }

std::vector<std::string> ScopeNetworks::Find(const Whose& scope) {
  std::promise<Subnets> promise;
  std::shared_future<Subnets> made;
  {
    const MutexLock lock(mutex_);
    const auto known = made_.find(scope.id);
    if (known != made_.end()) made = known->second;
    if (!made.valid()) made_[scope.id] = promise.get_future().share();
  }
  if (made.valid()) return made.get();
  try {
    Subnets subnets = Make(scope);
    promise.set_value(subnets);
    return subnets;
  } catch (...) {
    Forget(scope.id);
    promise.set_exception(std::current_exception());
    throw;
  }
}

void ScopeNetworks::Forget(const std::string& scope_id) {
  const MutexLock lock(mutex_);
  made_.erase(scope_id);
}

bool ScopeNetworks::Has(const std::function<bool(const Subnets& subnets)>& passes) const {
  const MutexLock lock(mutex_);
  return std::any_of(made_.begin(), made_.end(), [&](const auto& entry) {
    if (!IsReady(entry.second)) return false;
    Subnets known = entry.second.get();
    std::sort(known.begin(), known.end());
    return passes(known);
  });
}

SubnetPool ScopeNetworks::PoolOf(const std::string& id) {
  {
    const MutexLock lock(mutex_);
    const auto known = pools_.find(id);
    if (known != pools_.end()) return known->second;
  }
  SubnetPool pool = api_.GetSubnetPool(id);
  const MutexLock lock(mutex_);
  return pools_[id] = std::move(pool);
}

ScopeNetworks::Subnets ScopeNetworks::Make(const Whose& scope) {
  const Network network = FindNetwork(scope);
  if (!HasAll(network.tags, defaults_.tags)) api_.SetNetworkTags(network.id, defaults_.tags);
  Subnets subnets;
  for (const std::string& id : defaults_.subnet_pools) {
    const Subnet subnet = FindSubnet(network, PoolOf(id), scope.name);
    if (!HasAll(subnet.tags, defaults_.tags)) api_.SetSubnetTags(subnet.id, defaults_.tags);
    Connect(network, subnet.id);
    subnets.push_back(subnet.id);
  }
  return subnets;
}

/// A request without an answer may have made several networks: one with subnets stays.
Network ScopeNetworks::FindNetwork(const Whose& scope) {
  const std::string name = "ns/" + scope.name + "-net";
  const std::string description = Mark() + scope.id;
  std::vector<Network> ours;
  std::vector<Network> kuryrs;
  for (Network& network : api_.ListNetworks({.name = name, .project_id = defaults_.project})) {
    if (network.name != name) continue;
    const bool is_kuryrs = network.description.empty() && HasAll(network.tags, defaults_.tags);
    if (network.description == description)
      ours.push_back(std::move(network));
    else if (is_kuryrs)
      kuryrs.push_back(std::move(network));
  }
  if (ours.empty() && kuryrs.empty()) return CreateNetwork(scope, name);
  std::vector<Network>& found = ours.empty() ? kuryrs : ours;
  const auto has_subnets = [](const Network& network) { return !network.subnet_ids.empty(); };
  std::partition(found.begin(), found.end(), has_subnets);
  if (ours.empty()) {
    api_.DescribeNetwork(found.front().id, description);
    return found.front();
  }
  for (size_t i = 1; i < ours.size(); ++i) {
    if (!has_subnets(ours[i])) api_.DeleteNetwork(ours[i].id);
  }
  return ours.front();
}

Network ScopeNetworks::CreateNetwork(const Whose& scope, const std::string& name) {
  Network network = api_.CreateNetwork(
      {.project_id = defaults_.project, .name = name, .description = Mark() + scope.id});
  Log(LogLevel::kInfo, "network made", {{"namespace", scope.name}, {"network", network.id}});
  return network;
}

/// One of another pool, which kuryr.conf named before, serves as well: Neutron allows one pool of a
/// family in a network.
Subnet ScopeNetworks::FindSubnet(const Network& network, const SubnetPool& pool,
                                 const std::string& scope_name) {
  for (Subnet& subnet : api_.ListSubnets(network.id)) {
    if (subnet.cidr.address.family == pool.family) return std::move(subnet);
  }
  try {
    return api_.CreateSubnet({.project_id = defaults_.project,
                              .name = "ns/" + scope_name + "-subnet",
                              .network_id = network.id,
                              .pool = pool});
  } catch (const NeutronError& e) {
    constexpr int kInternal = 500;
    if (e.status() != kInternal) throw;
    throw WithPoolIn(e, pool);
  }
}

void ScopeNetworks::Connect(const Network& network, const std::string& subnet_id) {
  const PortFilter filter{.network_id = network.id, .device_id = defaults_.router};
  for (const Port& port : api_.ListPorts(filter)) {
    const bool is_there = std::any_of(port.fixed_ips.begin(), port.fixed_ips.end(),
                                      [&](const FixedIp& ip) { return ip.subnet_id == subnet_id; });
    if (is_there) return;
  }
  api_.AddRouterInterface(defaults_.router, subnet_id);
}

bool ScopeNetworks::SweepAll(const Sweep& sweep) {
  const std::string mark = Mark();
  bool all = true;
  for (const Network& network : api_.ListNetworks({.project_id = defaults_.project})) {
    if (!network.description.starts_with(mark)) continue;
    const std::string id = network.description.substr(mark.size());
    if (id.find(' ') != std::string::npos || sweep.is_there(id)) continue;
    Forget(id);
    all = Remove(network, sweep) && all;
  }
  return all;
}

/// The router goes last: what is left of a pod may still need it.
bool ScopeNetworks::Remove(const Network& network, const Sweep& sweep) {
  const std::vector<Port> ports = api_.ListPorts({.network_id = network.id});
  bool in_use = false;
  for (const Port& port : ports) {
    const bool is_neutrons = port.device_owner.starts_with(kOfNeutrons);
    if (!is_neutrons && !sweep.remove_port(port)) in_use = true;
  }
  if (in_use) return false;
  for (const Port& port : ports) {
    if (!IsRouters(port)) continue;
    for (const FixedIp& ip : port.fixed_ips)
      api_.RemoveRouterInterface(port.device_id, ip.subnet_id);
  }
  api_.DeleteNetwork(network.id);
  Log(LogLevel::kInfo, "network of a namespace that is gone deleted", {{"network", network.name}});
  return true;
}

}  // namespace kuryr::controller::neutron
