#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/controller/backends/neutron/fake_neutron.h"

// The part of FakeNeutron for networks that are created.

namespace kuryr::controller::neutron {
namespace {

using ErrorKind = NeutronError::Kind;

std::string MadeId(uint32_t number) {
  char id[40];
  (void)std::snprintf(id, sizeof id, "5e9f0c3a-7d51-4a9e-b1c6-%012x", number);
  return id;
}

}  // namespace

void FakeNeutron::SetPrefixes(size_t left) {
  const MutexLock lock(mutex_);
  prefixes_ = left;
}

std::vector<Network> FakeNeutron::networks() const {
  const MutexLock lock(mutex_);
  std::vector<Network> all;
  for (const auto& [id, network] : networks_) all.push_back(network);
  return all;
}

std::vector<Subnet> FakeNeutron::SubnetsOf(const std::string& network) const {
  const MutexLock lock(mutex_);
  std::vector<Subnet> found;
  for (const auto& [id, subnet] : subnets_) {
    if (subnet.network_id == network) found.push_back(subnet);
  }
  return found;
}

void FakeNeutron::ChangeNetwork(const std::string& id,
                                const std::function<void(Network&)>& change) {
  const MutexLock lock(mutex_);
  change(networks_.at(id));
}

bool FakeNeutron::WaitForNetworks(size_t count) {
  const MutexLock lock(mutex_);
  return changed_.wait_for(
      mutex_, std::chrono::seconds(30),
      [&]() KURYR_TSA(requires_capability(mutex_)) { return networks_.size() == count; });
}

std::vector<Network> FakeNeutron::ListNetworks(const NetworkFilter& filter) {
  return Call("ListNetworks", [&]() KURYR_TSA(requires_capability(mutex_)) {
    std::vector<Network> found;
    for (const auto& [id, network] : networks_) {
      if (filter.name.empty() || filter.name == network.name) found.push_back(network);
    }
    return found;
  });
}

Network FakeNeutron::CreateNetwork(const NetworkRequest& request) {
  return Call("CreateNetwork", [&]() KURYR_TSA(requires_capability(mutex_)) {
    Network network{.id = MadeId(++made_),
                    .name = request.name,
                    .mtu = 1442,
                    .description = request.description};
    return networks_[network.id] = network;
  });
}

void FakeNeutron::DescribeNetwork(const std::string& id, const std::string& description) {
  (void)Call("DescribeNetwork", [&]() KURYR_TSA(requires_capability(mutex_)) {
    networks_.at(id).description = description;
    return true;
  });
}

void FakeNeutron::SetNetworkTags(const std::string& id, const std::vector<std::string>& tags) {
  (void)Call("SetNetworkTags", [&]() KURYR_TSA(requires_capability(mutex_)) {
    networks_.at(id).tags = tags;
    return true;
  });
}

/// Deletes a network as Neutron does: Neutron's own ports in it go with it.
void FakeNeutron::DeleteNetwork(const std::string& id) {
  (void)Call("DeleteNetwork", [&]() KURYR_TSA(requires_capability(mutex_)) {
    const bool in_use = std::any_of(ports_.begin(), ports_.end(), [&](const auto& entry) {
      return entry.second.network_id == id && entry.second.device_owner != "network:dhcp";
    });
    if (in_use) Refuse(ErrorKind::kConflict, 409, "NetworkInUse", "Network " + id + " is in use");
    std::erase_if(ports_, [&](const auto& entry) { return entry.second.network_id == id; });
    std::erase_if(subnets_, [&](const auto& entry) { return entry.second.network_id == id; });
    return networks_.erase(id);
  });
  const MutexLock lock(mutex_);
  changed_.notify_all();
}

SubnetPool FakeNeutron::GetSubnetPool(const std::string& id) {
  return Call("GetSubnetPool", [&] {
    return SubnetPool{.id = id, .family = id == kPool6 ? IpFamily::kIpv6 : IpFamily::kIpv4};
  });
}

Subnet FakeNeutron::CreateSubnet(const SubnetRequest& request) {
  return Call("CreateSubnet", [&]() KURYR_TSA(requires_capability(mutex_)) {
    if (prefixes_ == 0)
      Refuse(ErrorKind::kUnavailable, 500, "HTTPInternalServerError", "Request Failed");
    --prefixes_;
    const std::string net = "10." + std::to_string(100 + ++made_) + ".0.";
    const bool is_six = request.pool.family == IpFamily::kIpv6;
    const std::string net6 = "fd00:" + std::to_string(made_) + "::";
    const auto address = [&](const std::string& four, const std::string& six) {
      return IpAddress::Parse(is_six ? net6 + six : net + four).value();
    };
    Subnet subnet{.id = MadeId(made_),
                  .name = request.name,
                  .network_id = request.network_id,
                  .cidr = IpNetwork::Parse(is_six ? net6 + "/64" : net + "0/24").value(),
                  .gateway = address("1", "1"),
                  .allocation_pools = {{address("2", "2"), address("254", "ffff")}},
                  .pool_id = request.pool.id};
    networks_.at(request.network_id).subnet_ids.push_back(subnet.id);
    return subnets_[subnet.id] = subnet;
  });
}

void FakeNeutron::SetSubnetTags(const std::string& id, const std::vector<std::string>& tags) {
  (void)Call("SetSubnetTags", [&]() KURYR_TSA(requires_capability(mutex_)) {
    subnets_.at(id).tags = tags;
    return true;
  });
}

void FakeNeutron::AddRouterInterface(const std::string& router_id, const std::string& subnet_id) {
  (void)Call("AddRouterInterface", [&]() KURYR_TSA(requires_capability(mutex_)) {
    const bool is_there = std::any_of(ports_.begin(), ports_.end(), [&](const auto& entry) {
      const Port& port = entry.second;
      return port.device_id == router_id && port.fixed_ips.at(0).subnet_id == subnet_id;
    });
    if (is_there) Refuse(ErrorKind::kBadRequest, 400, "BadRequest", "Router already has a port");
    return Make({.network_id = subnets_.at(subnet_id).network_id,
                 .fixed_ips = {{subnet_id, subnets_.at(subnet_id).gateway}},
                 .device_id = router_id,
                 .device_owner = "network:router_interface"})
        .id;
  });
}

void FakeNeutron::RemoveRouterInterface(const std::string& router_id,
                                        const std::string& subnet_id) {
  (void)Call("RemoveRouterInterface", [&]() KURYR_TSA(requires_capability(mutex_)) {
    return std::erase_if(ports_, [&](const auto& entry) {
      const Port& port = entry.second;
      return port.device_id == router_id && port.fixed_ips.at(0).subnet_id == subnet_id;
    });
  });
}

}  // namespace kuryr::controller::neutron
