#include "controller/backends/pools/allocator.h"

#include <algorithm>

#include "base/hash.h"

namespace kuryr::controller::pools {
namespace {

constexpr std::array<uint8_t, 2> kIpv4MacPrefix = {0x0a, 0x58};

/// The last part of a rest, in which an exhausted pool gives the address. Before it, the former
/// pod's node may still be ending the containers and unplugging the pod.
std::chrono::steady_clock::duration SpareTimeOf(const Pool& pool) {
  return pool.rest - std::chrono::steady_clock::duration(pool.rest) / 6;
}

Number Mix(uint64_t seed, const std::string& what) {
  const uint64_t high = Hash(what, seed);
  return Number{high} << 64 | Hash("low", high);
}

Number MacNumber(const MacAddress& mac) {
  Number number = 0;
  for (const uint8_t byte : mac.bytes) number = number << 8 | byte;
  return number;
}

/// A VLAN id on two nodes gives two numbers.
Number VlanNumber(const std::string& node, Number id) { return Number{Hash(node)} << 16 | id; }
Number VlanIdOf(Number number) { return number & 0xffff; }

bool IsIpv4(Number address) { return AddressOf(address).family == IpFamily::kIpv4; }

/// 0a:58 and the address, as kubenet makes MACs.
MacAddress Ipv4Mac(Number address) {
  MacAddress mac{.bytes = {kIpv4MacPrefix[0], kIpv4MacPrefix[1]}};
  const IpAddress ip = AddressOf(address);
  std::copy(ip.bytes.begin(), ip.bytes.begin() + 4, mac.bytes.begin() + 2);
  return mac;
}

/// The ledger has no entry for a MAC that is made of the address: the address's entry covers it.
bool IsMacOfAddress(const Holding& holding) {
  return std::any_of(holding.addresses.begin(), holding.addresses.end(), [&](Number address) {
    return IsIpv4(address) && Ipv4Mac(address) == holding.mac;
  });
}

bool Has(const Holding& holding, Number address) {
  return std::find(holding.addresses.begin(), holding.addresses.end(), address) !=
         holding.addresses.end();
}

}  // namespace

Allocator::Allocator(uint16_t index, Pool pool, uint64_t seed, const Ledger& ledger)
    : index_(index), pool_(std::move(pool)), seed_(seed), ledger_(ledger) {
  for (PoolSubnet& subnet : pool_.subnets) {
    const Number begin = Mix(seed_, pool_.name + subnet.cidr.ToString());
    networks_.emplace(subnet.cidr,
                      Network{.cidr = subnet.cidr,
                              .gateway = subnet.gateway,
                              .addresses = {subnet.addresses, begin, SpareTimeOf(pool_)}});
  }
}

const Allocator::Network* Allocator::FindNetwork(Number address) const {
  const auto after = networks_.upper_bound({.address = AddressOf(address), .prefix_length = 128});
  if (after == networks_.begin()) return nullptr;
  const auto before = std::prev(after);
  return RangeOf(before->first).Contains(address) ? &before->second : nullptr;
}

Allocator::Network* Allocator::FindNetwork(Number address) {
  return const_cast<Network*>(std::as_const(*this).FindNetwork(address));
}

Allocator::Network& Allocator::AddNetwork(const IpNetwork& cidr) {
  const auto gateway = pool_.node_gateways ? DefaultGateway(cidr) : std::nullopt;
  PoolSubnet subnet = MakePoolSubnet(cidr, gateway, {}, pool_.excluded);
  const Number begin = Mix(seed_, pool_.name + cidr.ToString());
  Network network = {.cidr = cidr,
                     .gateway = gateway,
                     .addresses = {std::move(subnet.addresses), begin, SpareTimeOf(pool_)}};
  const Range range = RangeOf(cidr);
  for (const Number taken : ledger_.NumbersAt({.number = range.first, .pool = index_}, range.last))
    network.addresses.TakeAnyway(taken);
  return networks_.emplace(cidr, std::move(network)).first->second;
}

AddressSet& Allocator::VlansOf(const std::string& node) {
  const auto known = vlans_.find(node);
  if (known != vlans_.end()) return known->second;
  Intervals all;
  all.Add(pool_.vlan_ids);
  const Number begin = Mix(seed_, pool_.name + ":" + node);
  return vlans_.try_emplace(node, std::move(all), begin, SpareTimeOf(pool_)).first->second;
}

std::vector<Resource> Allocator::ResourcesOf(const Holding& holding,
                                             const std::string& node) const {
  std::vector<Resource> resources;
  resources.reserve(holding.addresses.size() + 2);
  for (const Number address : holding.addresses)
    resources.push_back({.number = address, .pool = index_});
  if (holding.mac != MacAddress() && !IsMacOfAddress(holding)) {
    resources.push_back(
        {.number = MacNumber(holding.mac), .pool = index_, .kind = Resource::Kind::kMac});
  }
  if (holding.vlan != 0) {
    resources.push_back(
        {.number = VlanNumber(node, holding.vlan), .pool = index_, .kind = Resource::Kind::kVlan});
  }
  return resources;
}

AddressSet* Allocator::SetOf(const Resource& resource, const std::string& node) {
  if (resource.kind == Resource::Kind::kVlan) return &VlansOf(node);
  if (resource.kind == Resource::Kind::kMac) return nullptr;
  Network* network = FindNetwork(resource.number);
  return network == nullptr ? nullptr : &network->addresses;
}

void Allocator::TakeAnyway(const Resource& resource, const Holder& holder) {
  AddressSet* set = SetOf(resource, holder.node);
  const bool vlan = resource.kind == Resource::Kind::kVlan;
  if (set != nullptr) set->TakeAnyway(vlan ? VlanIdOf(resource.number) : resource.number);
}

void Allocator::GiveBack(const Resource& resource, const Holder& holder) {
  AddressSet* set = SetOf(resource, holder.node);
  const bool vlan = resource.kind == Resource::Kind::kVlan;
  if (set != nullptr) set->GiveBack(vlan ? VlanIdOf(resource.number) : resource.number);
}

void Allocator::Rest(const Resource& resource, const Holder& holder, TimePoint now) {
  AddressSet* set = SetOf(resource, holder.node);
  const bool vlan = resource.kind == Resource::Kind::kVlan;
  if (set != nullptr) {
    set->Rest(vlan ? VlanIdOf(resource.number) : resource.number, now + pool_.rest,
              RestKeyOf(holder));
  }
}

const Holder* Allocator::FindMac(const MacAddress& mac) const {
  const Holder* own =
      ledger_.Find({.number = MacNumber(mac), .pool = index_, .kind = Resource::Kind::kMac});
  const auto ip = AddressOfMac(mac);
  if (own != nullptr || !ip) return own;
  const Number address = NumberOf(*ip);
  const Holder* holder = ledger_.Find({.number = address, .pool = index_});
  if (holder == nullptr) return nullptr;
  const bool has =
      std::any_of(holder->holdings.begin(), holder->holdings.end(), [&](const Holding& holding) {
        return holding.pool == index_ && holding.mac == mac && Has(holding, address);
      });
  return has ? holder : nullptr;
}

MacAddress Allocator::MacFor(const std::vector<Number>& addresses, uint32_t attempt) const {
  const auto ipv4 = std::find_if(addresses.begin(), addresses.end(), IsIpv4);
  if (attempt == 0 && ipv4 != addresses.end()) return Ipv4Mac(*ipv4);
  const Number chosen = ipv4 != addresses.end() ? *ipv4 : addresses.front();
  uint64_t hash =
      Hash(pool_.name + "/" + AddressOf(chosen).ToString() + "/" + std::to_string(attempt));
  MacAddress mac{.bytes = {0x0e}};
  for (size_t i = 1; i < mac.bytes.size(); ++i, hash >>= 8)
    mac.bytes[i] = static_cast<uint8_t>(hash);
  return mac;
}

std::optional<IpAddress> AddressOfMac(const MacAddress& mac) {
  if (!std::equal(kIpv4MacPrefix.begin(), kIpv4MacPrefix.end(), mac.bytes.begin()))
    return std::nullopt;
  IpAddress ip;
  std::copy(mac.bytes.begin() + 2, mac.bytes.end(), ip.bytes.begin());
  return ip;
}

uint64_t RestKeyOf(const Holder& holder) { return Hash(holder.FullName()); }

}  // namespace kuryr::controller::pools
