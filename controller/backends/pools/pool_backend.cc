#include "controller/backends/pools/pool_backend.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/rollback.h"
#include "controller/backends/pools/pool_choice.h"
#include "controller/backends/pools/pool_vif.h"

namespace kuryr::controller::pools {
namespace {

using Kind = PlanError::Kind;

std::string Describe(const Resource& resource) {
  switch (resource.kind) {
    case Resource::Kind::kAddress:
      return "address " + AddressOf(resource.number).ToString();
    case Resource::Kind::kVlan:
      return "VLAN " + std::to_string(static_cast<uint16_t>(resource.number));
    case Resource::Kind::kMac:
      break;
  }
  MacAddress mac;
  Number rest = resource.number;
  for (size_t i = mac.bytes.size(); i-- > 0; rest >>= 8) mac.bytes[i] = static_cast<uint8_t>(rest);
  return "MAC address " + mac.ToString();
}

void CheckInterfaces(const std::vector<InterfaceRequest>& interfaces) {
  for (auto one = interfaces.begin(); one != interfaces.end(); ++one) {
    const std::string what = "interface \"" + Printable(one->ifname) + "\"";
    if (!IsLinkName(one->ifname))
      throw PlanError(Kind::kRefused, what + " is no interface name: " + kLinkNameRule);
    const bool twice = std::any_of(interfaces.begin(), one, [&](const InterfaceRequest& other) {
      return other.ifname == one->ifname;
    });
    if (twice) throw PlanError(Kind::kRefused, what + " is asked for twice");
  }
}

/// Refuses another network for an interface that has one until its pod's node has unplugged it.
void RequireNetwork(const InterfaceRequest& interface, const Pool& pool) {
  if (interface.network.empty() || interface.network == pool.name) return;
  throw PlanError(Kind::kRefused, "interface " + interface.ifname + " has an address of pool \"" +
                                      pool.name +
                                      "\": take it from the pod before it gets one of \"" +
                                      Printable(interface.network) + "\"");
}

/// Refuses security groups: a pod that wishes for less traffic must not run without them.
void CheckGroups(const std::vector<InterfaceRequest>& interfaces) {
  for (const InterfaceRequest& interface : interfaces) {
    if (!interface.security_groups.empty())
      throw PlanError(Kind::kRefused, "security group " + interface.security_groups.front() +
                                          ": pools have none; [controller] backend = neutron "
                                          "has");
  }
}

std::vector<IpNetwork> Masked(std::vector<IpNetwork> networks) {
  for (IpNetwork& network : networks) network = network.Masked();
  return networks;
}

const Holding* FindPlanned(const Holder& holder, const std::string& ifname) {
  const auto found = std::find_if(
      holder.holdings.begin(), holder.holdings.end(),
      [&](const Holding& holding) { return holding.planned && holding.ifname == ifname; });
  return found == holder.holdings.end() ? nullptr : &*found;
}

}  // namespace

uint64_t PoolBackend::RandomSeed() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

PoolBackend::PoolBackend(std::vector<Pool> pools, uint64_t seed, Now now, Wake wake,
                         std::unique_ptr<FlatPolicies> flat)
    : now_(std::move(now)), wake_(std::move(wake)), flat_(std::move(flat)) {
  allocators_.reserve(pools.size());
  for (Pool& pool : pools) {
    const auto index = static_cast<uint16_t>(allocators_.size());
    allocators_.emplace_back(index, std::move(pool), seed, ledger_);
  }
}

PoolBackend::Holders::iterator PoolBackend::Open(const Owner& owner) {
  const auto [entry, is_new] = holders_.try_emplace(owner.id);
  if (is_new) {
    entry->second = {
        .id = &entry->first, .scope = owner.scope, .name = owner.name, .node = owner.node};
  }
  return entry;
}

void PoolBackend::CloseIfEmpty(Holders::iterator entry) {
  if (entry->second.holdings.empty()) holders_.erase(entry);
}

void PoolBackend::NoteFlat(const std::string& owner_id) {
  if (flat_ == nullptr) return;
  const auto entry = holders_.find(owner_id);
  const Holding* eth0 = entry == holders_.end() ? nullptr : FindPlanned(entry->second, "eth0");
  if (eth0 == nullptr || allocators_[eth0->pool].pool().routed) return flat_->Remove(owner_id);
  flat_->Set(owner_id, allocators_[eth0->pool].pool().name);
}

std::optional<std::vector<vif::PodVif>> PoolBackend::Reserve(const PlanRequest& request) {
  const MutexLock lock(mutex_);
  Rollback wake([&]() KURYR_TSA(requires_capability(mutex_)) { WakeWaiting(); });
  try {
    Vifs vifs = ReserveAll(request);
    lines_.Leave(request.owner.id);
    NoteFlat(request.owner.id);
    return vifs;
  } catch (const SetExhausted& e) {
    throw WaitInLine(request.owner, e);
  } catch (const PlanError&) {
    lines_.Leave(request.owner.id);
    throw;
  }
}

PlanError PoolBackend::WaitInLine(const Owner& owner, const SetExhausted& exhausted) {
  const TimePoint now = now_();
  const TimePoint comes = lines_.Wait(exhausted.set(), owner, now);
  if (comes == Line::kNever) return exhausted;
  return {exhausted.kind(), exhausted.what(),
          std::chrono::ceil<std::chrono::milliseconds>(comes - now)};
}

void PoolBackend::WakeWaiting() {
  if (lines_.empty()) return;
  for (const Owner& owner : lines_.Call(now_())) {
    if (wake_) wake_(owner);
  }
}

PoolBackend::Vifs PoolBackend::ReserveAll(const PlanRequest& request) {
  CheckInterfaces(request.interfaces);
  CheckGroups(request.interfaces);
  const auto entry = Open(request.owner);
  Holder& holder = entry->second;
  std::vector<Holding> before = holder.holdings;
  Rollback undo([&]() KURYR_TSA(requires_capability(mutex_)) {
    while (holder.holdings.size() > before.size()) {
      const Holding holding = std::move(holder.holdings.back());
      holder.holdings.pop_back();
      ReleaseOne(holder, holding, After::kNothing);
    }
    holder.holdings.swap(before);
    CloseIfEmpty(entry);
  });
  if (request.anew) Withdraw(holder, request.interfaces);
  Vifs vifs;
  for (const InterfaceRequest& interface : request.interfaces) {
    if (FindPlanned(holder, interface.ifname) == nullptr) Plan(holder, request, interface);
    const Holding& holding = *FindPlanned(holder, interface.ifname);
    LearnNetworksOf(holding, request);
    if (request.owner.is_node()) ClaimGateways(holder, holding);
    RequireNetwork(interface, allocators_[holding.pool].pool());
    if (const auto conflict = FindConflict(holder, holding))
      throw PlanError(Kind::kRefused, *conflict);
    vifs.push_back(MakeVif(request.owner.id, holding, allocators_[holding.pool]));
  }
  undo.Dismiss();
  CloseIfEmpty(entry);
  const auto first =
      std::find_if(vifs.begin(), vifs.end(), [](const vif::PodVif& vif) { return vif.is_default; });
  if (first != vifs.end()) std::rotate(vifs.begin(), first, first + 1);
  return vifs;
}

/// A process that did not plan the holding itself may not know its networks.
void PoolBackend::LearnNetworksOf(const Holding& holding, const PlanRequest& request) {
  Allocator& allocator = allocators_[holding.pool];
  const auto unknown = [&] {
    return std::find_if(holding.addresses.begin(), holding.addresses.end(),
                        [&](Number address) { return allocator.FindNetwork(address) == nullptr; });
  };
  if (unknown() == holding.addresses.end()) return;
  LearnNodeNetworks(allocator, Masked(request.node_networks));
  const auto address = unknown();
  if (address == holding.addresses.end()) return;
  throw PlanError(Kind::kRefused, "address " + AddressOf(*address).ToString() +
                                      " is in no network of node " + Printable(request.owner.node) +
                                      " any more");
}

/// Its plan alone, which a kubelet may write, takes no address from a pod.
void PoolBackend::ClaimGateways(const Holder& node, const Holding& holding) {
  const Allocator& allocator = allocators_[holding.pool];
  if (!allocator.pool().routed) return;
  for (const Number address : holding.addresses) {
    const Allocator::Network* network = allocator.FindNetwork(address);
    if (network->gateway && NumberOf(*network->gateway) == address)
      ledger_.Claim({.number = address, .pool = holding.pool}, node, Right::kGateway);
  }
}

void PoolBackend::Plan(Holder& holder, const PlanRequest& request,
                       const InterfaceRequest& interface) {
  Allocator& allocator = ChoosePool(allocators_, request, interface);
  const std::vector<IpNetwork> node_networks =
      request.owner.is_node() ? NetworksOfNode(allocator, request) : Masked(request.node_networks);
  if (allocator.pool().from_node) LearnNodeNetworks(allocator, node_networks);
  const Reservation::Asker asker = {.id = request.owner.id,
                                    .holder = holder,
                                    .lender = FindLender(interface),
                                    .is_node = request.owner.is_node()};
  Reservation reservation({.allocator = allocator,
                           .segment = {allocators_, allocator},
                           .ledger = ledger_,
                           .lines = lines_},
                          asker, now_());
  reservation.Take(interface, node_networks);
  holder.holdings.reserve(holder.holdings.size() + 1);
  holder.holdings.push_back(reservation.Keep());
}

void PoolBackend::Withdraw(Holder& holder, const std::vector<InterfaceRequest>& interfaces) {
  for (const InterfaceRequest& interface : interfaces) {
    const Holding* planned = FindPlanned(holder, interface.ifname);
    if (interface.HasWishes() || planned == nullptr) continue;
    if (RivalsOf(&holder, holder.node, *planned).empty()) continue;
    for (const Resource& resource : allocators_[planned->pool].ResourcesOf(*planned, holder.node)) {
      // An owner whose plan has the resource goes before this holder from now on.
      ledger_.Release(resource, holder);
      ledger_.Claim(resource, holder);
    }
    Holding& kept = holder.holdings[static_cast<size_t>(planned - holder.holdings.data())];
    kept.ifname.clear();
    kept.planned = false;
    kept.beside = true;
  }
}

bool PoolBackend::Uses(const Holder& holder, const Resource& resource) const {
  for (const Holding& holding : holder.holdings) {
    if (holding.ifname.empty()) continue;
    const auto all = allocators_[holding.pool].ResourcesOf(holding, holder.node);
    if (std::find(all.begin(), all.end(), resource) != all.end()) return true;
  }
  return false;
}

std::vector<const Holder*> PoolBackend::RivalsOf(const Holder* holder, const std::string& node,
                                                 const Holding& holding) const {
  std::vector<const Holder*> rivals;
  const auto add = [&](const Holder* other) {
    const bool is_known = std::find(rivals.begin(), rivals.end(), other) != rivals.end();
    if (other != nullptr && other != holder && !is_known) rivals.push_back(other);
  };
  for (const Resource& resource : allocators_[holding.pool].ResourcesOf(holding, node)) {
    for (const Holder* other : ledger_.FindAll(resource)) {
      if (Uses(*other, resource)) add(other);
    }
  }
  add(SegmentOf(holding).FindMac(holding.mac));
  return rivals;
}

std::vector<Owner> PoolBackend::Rivals(const Owner& owner,
                                       const std::vector<vif::PodVif>& vifs) const {
  const MutexLock lock(mutex_);
  const auto entry = holders_.find(owner.id);
  const Holder* holder = entry == holders_.end() ? nullptr : &entry->second;
  std::vector<Owner> rivals;
  for (const vif::PodVif& vif : vifs) {
    for (const Holding& holding : HoldingsOf(owner, vif)) {
      for (const Holder* other : RivalsOf(holder, owner.node, holding))
        rivals.push_back(
            {.id = *other->id, .scope = other->scope, .name = other->name, .node = other->node});
    }
  }
  return rivals;
}

const Holder* PoolBackend::FindLender(const InterfaceRequest& interface) const {
  if (!interface.claim) return nullptr;
  const auto found = holders_.find(interface.claim->id);
  return found == holders_.end() ? nullptr : &found->second;
}

std::vector<IpNetwork> PoolBackend::NetworksOfNode(const Allocator& allocator,
                                                   const PlanRequest& request) const {
  const Pool& pool = allocator.pool();
  if (pool.blocks.empty() || (pool.pod_cidrs && !request.node_networks.empty()))
    return Masked(request.node_networks);
  const auto state_of = [&](const IpNetwork& block) KURYR_TSA(requires_capability(mutex_)) {
    return StateOf(allocator, block, request.owner.node);
  };
  std::vector<IpNetwork> networks;
  for (const NodeBlocks& blocks : pool.blocks) {
    const auto block = ChooseBlock(blocks, state_of);
    if (!block) {
      throw PlanError(Kind::kExhausted, "pool \"" + pool.name + "\" has no free block: each /" +
                                            std::to_string(blocks.prefix_length) + " of " +
                                            blocks.cidr.ToString() + " is another node's");
    }
    networks.push_back(*block);
  }
  return networks;
}

BlockState PoolBackend::StateOf(const Allocator& allocator, const IpNetwork& block,
                                const std::string& node) const {
  const Range range = RangeOf(block);
  const auto overlaps = [&](const auto& known) { return RangeOf(known.first).Overlaps(range); };
  if (std::any_of(allocator.networks().begin(), allocator.networks().end(), overlaps))
    return BlockState::kOthers;
  BlockState state = BlockState::kFree;
  const Resource first = {.number = range.first, .pool = allocator.index()};
  for (const Number number : ledger_.NumbersAt(first, range.last)) {
    const Holder* holder = ledger_.Find({.number = number, .pool = allocator.index()});
    if (holder == nullptr || holder->node != node) return BlockState::kOthers;
    state = BlockState::kOwn;
  }
  return state;
}

void PoolBackend::LearnNodeNetworks(Allocator& allocator, const std::vector<IpNetwork>& networks) {
  for (const IpNetwork& cidr : networks) {
    if (allocator.networks().contains(cidr)) continue;
    if (const auto why = WhyNoSubnet(cidr))
      throw PlanError(Kind::kRefused, "the node's network " + *why);
    ForgetUnused(allocator, cidr);
    RequireApart(allocator, cidr);
    allocator.AddNetwork(cidr);
  }
}

void PoolBackend::ForgetUnused(Allocator& allocator, const IpNetwork& cidr) {
  const TimePoint now = now_();
  auto& networks = allocator.networks();
  for (auto known = networks.begin(); known != networks.end();) {
    AddressSet& addresses = known->second.addresses;
    const bool is_used = addresses.taken() > 0 || addresses.resting(now) > 0;
    if (is_used || !RangeOf(known->first).Overlaps(RangeOf(cidr))) {
      ++known;
    } else {
      lines_.Drop(addresses);
      known = networks.erase(known);
    }
  }
}

void PoolBackend::RequireApart(const Allocator& allocator, const IpNetwork& cidr) const {
  for (const Allocator& other : allocators_) {
    if (!ShareSegment(other.pool(), allocator.pool())) continue;
    for (const auto& [known, network] : other.networks()) {
      if (!RangeOf(known).Overlaps(RangeOf(cidr))) continue;
      throw PlanError(Kind::kRefused, "the node's network " + cidr.ToString() + " overlaps " +
                                          known.ToString() + " of pool \"" + other.pool().name +
                                          "\"");
    }
  }
}

std::optional<std::string> PoolBackend::FindConflict(const Holder& holder,
                                                     const Holding& holding) const {
  const Allocator& allocator = allocators_[holding.pool];
  // The pod's user reads the message, so it names no pods of other namespaces.
  const auto describe = [&](const std::string& what, const Holder& other) {
    return what + " of pool \"" + allocator.pool().name + "\" is both " +
           (other.scope == holder.scope ? Printable(other.FullName()) : "another pod") + "'s and " +
           Printable(holder.FullName()) + "'s";
  };
  for (const Resource& resource : allocator.ResourcesOf(holding, holder.node)) {
    const Holder* other = ledger_.Find(resource);
    if (other != nullptr && other != &holder) return describe(Describe(resource), *other);
  }
  const Holder* other = SegmentOf(holding).FindMac(holding.mac);
  if (other == nullptr || other == &holder) return std::nullopt;
  return describe("MAC address " + holding.mac.ToString(), *other);
}

bool PoolBackend::Await(const Owner& /*owner*/, const std::vector<vif::PodVif>& /*vifs*/) {
  return true;
}

void PoolBackend::ReleaseOne(const Holder& holder, const Holding& holding, After after) {
  Allocator& allocator = allocators_[holding.pool];
  std::vector<Resource> kept;
  for (const Holding& other : holder.holdings) {
    const auto resources = allocators_[other.pool].ResourcesOf(other, holder.node);
    kept.insert(kept.end(), resources.begin(), resources.end());
  }
  for (const Resource& resource : allocator.ResourcesOf(holding, holder.node)) {
    const bool stays = std::find(kept.begin(), kept.end(), resource) != kept.end();
    if (stays) continue;
    if (!ledger_.Release(resource, holder)) {
      TellNext(resource);
      continue;
    }
    if (after == After::kRest) {
      allocator.Rest(resource, holder, now_());
    } else {
      allocator.GiveBack(resource, holder);
    }
  }
}

/// Wakes the owner that holds the resource now, if its plan has it: its conflict may be over.
void PoolBackend::TellNext(const Resource& resource) {
  const Holder* next = ledger_.Find(resource);
  if (next == nullptr || !Uses(*next, resource) || !wake_) return;
  wake_({.id = *next->id, .scope = next->scope, .name = next->name, .node = next->node});
}

bool PoolBackend::Release(const std::string& owner_id) {
  const MutexLock lock(mutex_);
  Rollback wake([&]() KURYR_TSA(requires_capability(mutex_)) { WakeWaiting(); });
  lines_.Leave(owner_id);
  const auto entry = holders_.find(owner_id);
  if (entry == holders_.end()) return true;
  Holder& holder = entry->second;
  while (!holder.holdings.empty()) {
    const Holding holding = std::move(holder.holdings.back());
    holder.holdings.pop_back();
    ReleaseOne(holder, holding, After::kRest);
  }
  holders_.erase(entry);
  NoteFlat(owner_id);
  return true;
}

void PoolBackend::ReleaseBut(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  const MutexLock lock(mutex_);
  Rollback wake([&]() KURYR_TSA(requires_capability(mutex_)) { WakeWaiting(); });
  const auto entry = holders_.find(owner.id);
  if (entry == holders_.end()) return;
  auto& holdings = entry->second.holdings;
  for (size_t i = holdings.size(); i-- > 0;) {
    const bool stays =
        holdings[i].others || std::any_of(vifs.begin(), vifs.end(), [&](const vif::PodVif& vif) {
          return vif.ifname == holdings[i].ifname;
        });
    if (stays) continue;
    const Holding old = std::move(holdings[i]);
    holdings.erase(holdings.begin() + static_cast<std::ptrdiff_t>(i));
    ReleaseOne(entry->second, old, After::kRest);
  }
  CloseIfEmpty(entry);
  NoteFlat(owner.id);
}

std::vector<Owner> PoolBackend::Inventory() const {
  const MutexLock lock(mutex_);
  std::vector<Owner> owners;
  owners.reserve(holders_.size());
  for (const auto& [id, holder] : holders_)
    owners.push_back({.id = id, .scope = holder.scope, .name = holder.name, .node = holder.node});
  return owners;
}

std::vector<NetworkUsage> PoolBackend::Usage() const {
  const MutexLock lock(mutex_);
  std::vector<NetworkUsage> usages;
  for (const Allocator& allocator : allocators_) {
    std::map<IpFamily, NetworkUsage> families;
    for (const auto& [cidr, network] : allocator.networks()) {
      NetworkUsage& usage = families[cidr.address.family];
      usage.network = allocator.pool().name;
      usage.family = cidr.address.family;
      usage.limit += static_cast<double>(network.addresses.size());
      usage.resting += network.addresses.resting(now_());
      usage.used += static_cast<uint64_t>(network.addresses.taken());
    }
    for (auto& [family, usage] : families) usages.push_back(std::move(usage));
  }
  return usages;
}

void PoolBackend::WriteTo(service::MetricsText& text) const {
  text.Head("kuryr_controller_addresses", "gauge",
            "Addresses of a network: used, resting after their release, free.");
  for (const NetworkUsage& network : Usage()) {
    const char* family = network.family == IpFamily::kIpv4 ? "ipv4" : "ipv6";
    const auto sample = [&](const char* state, double value) {
      text.Sample("kuryr_controller_addresses",
                  {{"network", network.network}, {"family", family}, {"state", state}}, value);
    };
    sample("used", static_cast<double>(network.used));
    sample("resting", static_cast<double>(network.resting));
    sample("free", network.limit - static_cast<double>(network.used + network.resting));
  }
}

}  // namespace kuryr::controller::pools
