#include "controller/backends/neutron/stock/port_pools.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "controller/backends/neutron/ports/port_request.h"

namespace kuryr::controller::neutron {
namespace {

using Event = ReadyPorts::Event;
using ErrorKind = NeutronError::Kind;

std::vector<std::string> Sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::vector<std::string> IdsOf(const PodNetwork& network) {
  std::vector<std::string> ids;
  ids.reserve(network.subnets.size());
  for (const Subnet& subnet : network.subnets) ids.push_back(subnet.id);
  return ids;
}

PoolKey KeyFor(const std::string& place, const PodNetwork& network) {
  PoolKey key{.place = place, .subnets = {}};
  for (const Subnet& subnet : network.subnets) {
    if (!subnet.is_slaac) key.subnets.push_back(subnet.id);
  }
  if (key.subnets.empty()) key.subnets.push_back(network.network.id);
  key.subnets = Sorted(std::move(key.subnets));
  return key;
}

/// The subnets of a port's addresses, sorted.
struct PortSubnets {
  std::vector<std::string> all;
  std::vector<std::string> asked;  ///< without those of SLAAC, which nobody need have asked for
};

PortSubnets SubnetsOf(const Port& port, Networks& networks) {
  PortSubnets subnets;
  for (const FixedIp& ip : port.fixed_ips) {
    subnets.all.push_back(ip.subnet_id);
    const bool is_slaac = ip.address.family == IpFamily::kIpv6 && networks.IsSlaac(ip.subnet_id);
    if (!is_slaac) subnets.asked.push_back(ip.subnet_id);
  }
  return {.all = Sorted(std::move(subnets.all)), .asked = Sorted(std::move(subnets.asked))};
}

/// Whether a request for a pod may have led to a port in these.
bool IsPods(const PortSubnets& port, const PortPools::Means& means) {
  const PodDefaults& defaults = means.defaults;
  const auto leads_here = [&](const std::vector<std::string>& request) {
    const std::vector<std::string> sorted = Sorted(request);
    return !sorted.empty() &&
           std::includes(port.all.begin(), port.all.end(), sorted.begin(), sorted.end()) &&
           std::includes(sorted.begin(), sorted.end(), port.asked.begin(), port.asked.end());
  };
  if (leads_here(defaults.subnets) || means.scopes.Has(leads_here)) return true;
  for (const auto& [name, pool] : defaults.pools) {
    if (leads_here(pool.ids)) return true;
  }
  const auto may_be_named = [&](const std::string& id) {
    const auto lists = [&](const std::vector<std::string>& ids) {
      return std::find(ids.begin(), ids.end(), id) != ids.end();
    };
    return defaults.any_subnet || lists(defaults.subnets) || lists(defaults.more_subnets);
  };
  return std::any_of(port.all.begin(), port.all.end(),
                     [&](const std::string& id) { return leads_here({id}) && may_be_named(id); });
}

bool IsFull(const NeutronError& error) {
  return error.kind() == ErrorKind::kQuota || error.kind() == ErrorKind::kExhausted;
}

}  // namespace

bool PortPools::IsReady(const VifDriver& driver, const Port& port) {
  const bool is_named = port.name == kReadyName || port.name == kFormerReadyName;
  return is_named && port.device_id.empty() && driver.OwnerIdOf(port).empty();
}

/// Without a name, tags alone say that it is this cluster's.
bool PortPools::IsFree(const VifDriver& driver, const PodDefaults& defaults, const Port& port) {
  const bool is_ready = IsReady(driver, port);
  if (!HasTags(port, defaults.tags)) return is_ready && port.description == MarkOf(defaults);
  if (is_ready) return true;
  const bool is_nameless = port.name.empty() && port.device_id.empty() && port.description.empty();
  // A pod may be on it, which has no plan that anybody has told of.
  const bool is_in_use = port.active && !defaults.is_nested();
  return is_nameless && !is_in_use && !defaults.tags.empty();
}

std::optional<PoolKey> PortPools::KeyOf(const Means& means, const Port& port) {
  const auto place = means.driver.PlaceOf(port);
  if (!place || port.fixed_ips.empty() || port.has_address_pairs) return std::nullopt;
  PortSubnets subnets = SubnetsOf(port, means.networks);
  const bool has_two_of_one =
      std::adjacent_find(subnets.all.begin(), subnets.all.end()) != subnets.all.end();
  if (has_two_of_one || !IsPods(subnets, means)) return std::nullopt;
  if (subnets.asked.empty()) subnets.asked.push_back(port.network_id);
  return PoolKey{.place = *place, .subnets = std::move(subnets.asked)};
}

ReadyPort PortPools::ReadyOf(const PodDefaults& defaults, const Port& port) {
  ReadyPort ready{.id = port.id,
                  // Its status is about to change, and so is the revision.
                  .revision = port.active ? 0 : port.revision,
                  .other_groups = Sorted(port.security_groups) != Sorted(defaults.security_groups),
                  .described = !port.description.empty(),
                  .mac = port.mac};
  for (const FixedIp& ip : port.fixed_ips) ready.addresses.push_back(ip.address);
  return ready;
}

std::optional<Port> PortPools::Claim(const Owner& owner, const PodNode& node,
                                     const Wanted& wanted) {
  if (!enabled() || wanted.interface.HasWishes()) return std::nullopt;
  const auto place = means_.driver.PlaceOf(node);
  if (!place) return std::nullopt;
  const PoolKey key = KeyFor(*place, wanted.network);
  PortUpdate update = ClaimOf(owner, wanted.interface.ifname);
  if (Sorted(wanted.groups) != Sorted(means_.defaults.security_groups))
    update.security_groups = wanted.groups;
  std::optional<Port> claimed;
  while (!claimed) {
    const auto ready = means_.ready.Take(key);
    if (!ready) break;
    claimed = TryClaim(key, *ready, update);
    means_.ready.Count(key, claimed ? Event::kClaim : Event::kConflict);
  }
  if (!claimed) means_.ready.Count(key, Event::kMiss);
  if (means_.ready.Lacking(key) > 0)
    hooks_.want({.key = key, .node = node, .subnets = IdsOf(wanted.network)});
  return claimed;
}

std::optional<Port> PortPools::TryClaim(const PoolKey& key, const ReadyPort& ready,
                                        PortUpdate update) {
  if (ready.other_groups && !update.security_groups)
    update.security_groups = means_.defaults.security_groups;
  if (ready.described && !update.description) update.description = "";
  update.revision = ready.revision;
  // Once more where its status has changed since: that moves the revision, too.
  for (int tries = 0; tries < 2; ++tries) {
    try {
      if (*update.revision == 0) {
        const auto now = Look(ready.id);
        if (!now) return std::nullopt;
        update.revision = now->revision;
      }
      return means_.api.UpdatePort(ready.id, update);
    } catch (const NeutronError& e) {
      if (e.kind() == ErrorKind::kNotFound) return std::nullopt;
      if (e.kind() != ErrorKind::kPrecondition) {
        if (e.uncertain())
          hooks_.doubt();
        else
          means_.ready.Put(key, ready);
        throw;
      }
      update.revision = 0;
    }
  }
  hooks_.doubt();
  return std::nullopt;
}

std::optional<Port> PortPools::Look(const std::string& id) {
  Port port = means_.api.GetPort(id);
  if (!IsReady(means_.driver, port)) return std::nullopt;
  return port;
}

PortUpdate PortPools::ClaimOf(const Owner& owner, const std::string& ifname) const {
  PortRequest described;
  means_.driver.Describe(described, owner);
  PortUpdate update{.name = PortNameOf(owner, ifname)};
  if (!described.device_id.empty()) update.device_id = described.device_id;
  if (!described.description.empty()) update.description = described.description;
  return update;
}

/// The update that takes back what a claim has written.
PortUpdate PortPools::ReturnOf(const Port& port) const {
  PortUpdate update{.name = kReadyName};
  if (!port.device_id.empty()) update.device_id = "";
  if (!port.description.empty()) update.description = "";
  if (Sorted(port.security_groups) != Sorted(means_.defaults.security_groups))
    update.security_groups = means_.defaults.security_groups;
  return update;
}

bool PortPools::Return(const Port& port) {
  // Without tags the mark alone says whose a port is, and a return clears it.
  if (!enabled() || !HasTags(port, means_.defaults.tags)) return false;
  const auto key = KeyOf(means_, port);
  if (!key) return false;
  ReadyPorts::Room room = means_.ready.TakeRoom(*key, 1);
  if (room.count() == 0) return false;
  try {
    const bool is_back = IsReady(means_.driver, port);
    const Port now = is_back ? port : means_.api.UpdatePort(port.id, ReturnOf(port));
    room.Put(ReadyOf(means_.defaults, now));
    if (!is_back) means_.ready.Count(*key, Event::kReturn);
  } catch (const NeutronError& e) {
    if (e.kind() == ErrorKind::kNotFound) return true;
    if (e.uncertain()) hooks_.doubt();
    throw;
  }
  return true;
}

void PortPools::Free(const InterfaceRequest& interface) {
  if (!enabled() || !interface.HasWishes()) return;
  for (const ReadyPort& ready : means_.ready.TakeWith(interface.addresses, interface.mac)) {
    Log(LogLevel::kInfo, "ready port deleted: a pod asks for its address", {{"port", ready.id}});
    means_.driver.Delete(ready.id);
  }
}

bool PortPools::MakeRoom(const NeutronError& error, size_t count, const PodNetwork& network) {
  if (!enabled() || !IsFull(error)) return false;
  means_.ready.Rest(kFullRest);
  const bool is_quota = error.kind() == ErrorKind::kQuota;
  const std::vector<std::string> subnets =
      is_quota ? std::vector<std::string>() : KeyFor("", network).subnets;
  size_t freed = 0;
  for (; freed < count; ++freed) {
    const auto ready = means_.ready.TakeAny(subnets);
    if (!ready) break;
    Log(LogLevel::kInfo, "ready port deleted: a pod of another node waits for one",
        {{"port", ready->id}});
    means_.driver.Delete(ready->id);
  }
  return freed == count;
}

}  // namespace kuryr::controller::neutron
