// The part of PoolBackend that learns what pods, KuryrPorts and claims have already.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/rollback.h"
#include "controller/backends/pools/pool_backend.h"
#include "controller/backends/pools/pool_choice.h"
#include "controller/backends/pools/pool_vif.h"

namespace kuryr::controller::pools {
namespace {

using Kind = PlanError::Kind;

/// The VIF's addresses in all subnets, without repetition.
std::vector<Number> AddressNumbersOf(const vif::VifBase& vif) {
  std::vector<Number> addresses;
  if (!vif.network.has_value() || !vif.network->subnets.has_value()) return addresses;
  for (const vif::Subnet& subnet : *vif.network->subnets) {
    for (const IpNetwork& address : vif::FixedIpsOf(vif, subnet)) {
      const Number number = NumberOf(address.address);
      if (std::find(addresses.begin(), addresses.end(), number) == addresses.end())
        addresses.push_back(number);
    }
  }
  return addresses;
}

}  // namespace

bool PoolBackend::Owns(const Owner& owner, const vif::PodVif& vif) const {
  return vif::Common(vif.vif).id == vif::Field<std::string>(VifIdOf(owner.id, vif.ifname));
}

std::vector<Holding> PoolBackend::HoldingsOf(const Owner& owner, const vif::PodVif& vif) const {
  const vif::VifBase& common = vif::Common(vif.vif);
  const std::string network = common.network.has_value() ? common.network->id.value_or("") : "";
  const auto* nested = std::get_if<vif::VifVlanNested>(&vif.vif);
  const std::vector<Number> all = AddressNumbersOf(common);
  std::vector<Holding> holdings;
  for (const Allocator& allocator : allocators_) {
    const Pool& pool = allocator.pool();
    const bool is_its = network == NetworkIdOf(pool.name);
    Holding holding = {.ifname = vif.ifname,
                       .mac = common.address.value_or(MacAddress()),
                       .pool = allocator.index(),
                       .is_default = vif.is_default};
    std::copy_if(all.begin(), all.end(), std::back_inserter(holding.addresses), [&](Number number) {
      return pool.from_node || allocator.FindNetwork(number) != nullptr;
    });
    if (pool.kind == VifKind::kVlan && nested != nullptr && nested->vlan_id.has_value() &&
        pool.vlan_ids.Contains(*nested->vlan_id))
      holding.vlan = *nested->vlan_id;
    if (holding.addresses.empty() && holding.vlan == 0) continue;
    holding.planned = is_its && holding.addresses.size() == all.size() && !all.empty() &&
                      Owns(owner, vif) && (pool.kind != VifKind::kVlan || holding.vlan != 0);
    // The pool that planned the VIF has it alone. Other pools in whose range it lies only keep it
    // from their owners.
    if (holding.planned) return {std::move(holding)};
    holdings.push_back(std::move(holding));
  }
  return holdings;
}

void PoolBackend::Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  const MutexLock lock(mutex_);
  Rollback wake([&]() KURYR_TSA(requires_capability(mutex_)) { WakeWaiting(); });
  std::optional<std::string> conflict;
  for (const vif::PodVif& vif : vifs) {
    if (owner.is_node()) AdoptBlocks(vif);
    for (const Holding& holding : HoldingsOf(owner, vif)) {
      // The VIF's network is gone, and this scope may not use the pool that has its addresses now.
      if (!holding.planned && !MayUse(allocators_[holding.pool].pool(), owner.scope)) continue;
      Holder& holder = Open(owner)->second;
      Take(holder, holding);
      if (!conflict) conflict = FindConflict(holder, holding);
    }
  }
  NoteFlat(owner.id);
  if (conflict) throw PlanError(Kind::kRefused, *conflict);
}

/// A block that overlaps another network is refused when the node asks.
void PoolBackend::AdoptBlocks(const vif::PodVif& vif) {
  const auto& network = vif::Common(vif.vif).network;
  if (!network.has_value() || !network->subnets.has_value()) return;
  for (Allocator& allocator : allocators_) {
    for (const NodeBlocks& blocks : allocator.pool().blocks) {
      for (const vif::Subnet& subnet : *network->subnets) {
        if (!subnet.cidr.has_value() || !blocks.Has(*subnet.cidr)) continue;
        try {
          LearnNodeNetworks(allocator, {*subnet.cidr});
        } catch (const PlanError&) {
          continue;
        }
      }
    }
  }
}

std::optional<std::string> PoolBackend::WhyNeverGiven(const Owner& owner,
                                                      const vif::PodVif& vif) const {
  const MutexLock lock(mutex_);
  for (const Holding& holding : HoldingsOf(owner, vif)) {
    if (!holding.planned) continue;
    const Allocator& allocator = allocators_[holding.pool];
    const std::string pool = "pool \"" + allocator.pool().name + "\"";
    if (!MayUse(allocator.pool(), owner.scope))
      return pool + " is not for namespace " + Printable(owner.scope);
    for (const Number address : holding.addresses) {
      const Allocator::Network* network = allocator.FindNetwork(address);
      if (network == nullptr || network->addresses.all().Contains(address)) continue;
      return "address " + AddressOf(address).ToString() + " is none that " + pool + " gives";
    }
    if (auto why = Segment::WhyNotFor(holding.addresses, holding.mac)) return why;
  }
  return std::nullopt;
}

void PoolBackend::Heed(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  const MutexLock lock(mutex_);
  Rollback wake([&]() KURYR_TSA(requires_capability(mutex_)) { WakeWaiting(); });
  std::vector<Holding> heeded;
  for (const vif::PodVif& vif : vifs) {
    for (Holding& holding : HoldingsOf(owner, vif)) {
      if (!MayUse(allocators_[holding.pool].pool(), owner.scope)) continue;
      holding.planned = false;
      holding.others = true;
      heeded.push_back(std::move(holding));
    }
  }
  const auto entry = Open(owner);
  ReleaseOthers(entry->second, heeded);
  std::optional<std::string> conflict;
  for (Holding& holding : heeded) {
    Take(entry->second, holding);
    if (!conflict) conflict = FindConflict(entry->second, holding);
  }
  CloseIfEmpty(entry);
  if (conflict) throw PlanError(Kind::kRefused, *conflict);
}

void PoolBackend::ReleaseOthers(Holder& holder, const std::vector<Holding>& stays) {
  auto& holdings = holder.holdings;
  for (size_t i = holdings.size(); i-- > 0;) {
    const bool is_old =
        holdings[i].others && std::find(stays.begin(), stays.end(), holdings[i]) == stays.end();
    if (!is_old) continue;
    const Holding old = std::move(holdings[i]);
    holdings.erase(holdings.begin() + static_cast<std::ptrdiff_t>(i));
    ReleaseOne(holder, old, After::kRest);
  }
}

void PoolBackend::KeepBeside(const Owner& owner, const Beside& beside) {
  const MutexLock lock(mutex_);
  for (const Allocator& allocator : allocators_) {
    const Pool& pool = allocator.pool();
    Holding holding = {.pool = allocator.index(), .beside = true};
    const auto add = [&](const std::vector<IpAddress>& addresses) {
      for (const IpAddress& address : addresses) {
        if (pool.from_node || allocator.FindNetwork(NumberOf(address)) != nullptr)
          holding.addresses.push_back(NumberOf(address));
      }
    };
    add(beside.there);
    if (MayUse(pool, owner.scope)) add(beside.former);
    if (!holding.addresses.empty()) Take(Open(owner)->second, std::move(holding));
  }
}

void PoolBackend::Keep(const Owner& claim, const std::vector<IpAddress>& addresses) {
  const MutexLock lock(mutex_);
  std::optional<std::string> refused;
  for (const IpAddress& address : addresses) {
    bool kept = false;
    for (Allocator& allocator : allocators_) {
      if (KeepIn(allocator, claim, NumberOf(address))) kept = true;
    }
    if (!kept && !refused) refused = address.ToString();
  }
  if (!refused) return;
  throw PlanError(Kind::kRefused, "address " + *refused + " of " +
                                      Printable(claim.scope + "/" + claim.name) +
                                      " is another namespace's, or none that pools give to it");
}

bool PoolBackend::KeepIn(Allocator& allocator, const Owner& claim, Number address) {
  const Pool& pool = allocator.pool();
  const Allocator::Network* network = allocator.FindNetwork(address);
  const bool given =
      network == nullptr ? pool.from_node : network->addresses.all().Contains(address);
  if (!given || !MayUse(pool, claim.scope)) return false;
  const Resource resource = {.number = address, .pool = allocator.index()};
  const Holder* other = ledger_.Find(resource);
  if (other != nullptr && other->scope != claim.scope && !ledger_.IsOthers(resource)) return false;
  Take(Open(claim)->second, {.addresses = {address}, .pool = allocator.index()});
  return true;
}

void PoolBackend::Take(Holder& holder, Holding holding) {
  auto& holdings = holder.holdings;
  if (std::find(holdings.begin(), holdings.end(), holding) != holdings.end()) return;
  Allocator& allocator = allocators_[holding.pool];
  for (const Resource& resource : allocator.ResourcesOf(holding, holder.node)) {
    ledger_.Claim(resource, holder, holding.others ? Right::kOthers : Right::kOwn);
    allocator.TakeAnyway(resource, holder);
  }
  const auto former = std::find_if(holdings.begin(), holdings.end(), [&](const Holding& known) {
    if (holding.beside) return known.beside && known.pool == holding.pool;
    return holding.planned && known.planned && known.ifname == holding.ifname;
  });
  if (former == holdings.end()) {
    holdings.reserve(holdings.size() + 1);
    holdings.push_back(std::move(holding));
  } else {
    std::swap(*former, holding);
    ReleaseOne(holder, holding, After::kRest);
  }
}

}  // namespace kuryr::controller::pools
