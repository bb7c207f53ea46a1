#include "controller/backends/neutron/port_planner.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/log.h"
#include "controller/backends/neutron/api/port_name.h"
#include "controller/backends/neutron/ports/plan_error_of.h"
#include "controller/backends/neutron/ports/port_request.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = PlanError::Kind;

auto FindOf(std::vector<HeldPort>& ports, const std::string& ifname) {
  return std::find_if(ports.begin(), ports.end(),
                      [&](const HeldPort& port) { return port.ifname == ifname; });
}

auto FindById(std::vector<HeldPort>& ports, const std::string& id) {
  return std::find_if(ports.begin(), ports.end(),
                      [&](const HeldPort& port) { return port.id == id; });
}

PodNode NodeOf(const PortWork& work) {
  return {.name = work.owner.node, .addresses = work.node_addresses};
}

/// Whether the VIF has the port's MAC, and no address that the port lacks. The port may have more:
/// Neutron gives it one of each SLAAC subnet of the network, also of a subnet that is made later.
bool IsVifOf(const Port& port, const vif::Vif& vif) {
  const vif::VifBase& common = vif::Common(vif);
  std::set<IpAddress> told;
  for (const IpNetwork& address : vif::AddressesOf(common)) told.insert(address.address);
  std::set<IpAddress> given;
  for (const FixedIp& ip : port.fixed_ips) given.insert(ip.address);
  return common.address.has_value() && *common.address == port.mac && !told.empty() &&
         std::includes(given.begin(), given.end(), told.begin(), told.end());
}

SeenPort SeenNow(const Port& port) { return SeenPortOf(port, SeenPort::Clock::now()); }

/// A port of the owner's.
void Hold(PortWork& work, const Port& port) {
  work.ports.push_back({.id = port.id,
                        .ifname = PartsOfName(port).ifname,
                        .known = true,
                        .active = port.active,
                        .seen = SeenNow(port)});
}

}  // namespace

PolicedPort PolicedPortOf(const HeldPort& held) {
  if (!held.seen) return {.ifname = held.ifname, .subnets = {}};
  return {.ifname = held.seen->ifname.empty() ? held.ifname : held.seen->ifname,
          .subnets = held.seen->subnets};
}

void PortPlanner::Plan(PortWork& work) {
  work.error.reset();
  try {
    Recognise(work);
    if (work.must_search) FindAll(work);
    Create(work);
    Complete(work);
    CorrectGroups(work);
  } catch (const NeutronError& e) {
    work.error = PlanErrorOf(e, nullptr);
  } catch (const PlanError& e) {
    work.error = e;
  }
  if (!work.error) return;
  if (work.error->kind() == Kind::kGone) {
    networks_.Forget();
    scopes_.Forget(work.scope.id);
  }
  if (work.error->kind() != Kind::kRetry) Undo(work);
}

void PortPlanner::Search(PortWork& work) {
  work.error.reset();
  try {
    FindAll(work);
  } catch (const NeutronError& e) {
    work.error = PlanErrorOf(e, nullptr);
  } catch (const PlanError& e) {
    work.error = e;
  }
}

void PortPlanner::Regroup(PortWork& work) {
  work.error.reset();
  try {
    CorrectGroups(work);
  } catch (const NeutronError& e) {
    work.error = PlanErrorOf(e, nullptr);
  }
}

/// A port that Neutron does not change keeps no other from its groups.
void PortPlanner::CorrectGroups(PortWork& work) {
  if (isolation_ == nullptr) return;
  std::optional<NeutronError> refusal;
  for (HeldPort& held : work.ports) {
    try {
      CorrectGroups(work.owner, held);
    } catch (const NeutronError& e) {
      if (e.type() == kNoSecurityGroup) isolation_->Doubt();
      const bool is_gone =
          e.kind() == NeutronError::Kind::kNotFound && e.type() != kNoSecurityGroup;
      if (!is_gone && !refusal) refusal = e;
    }
  }
  if (refusal) throw NeutronError(*refusal);
}

/// Leaves a port that Neutron does not call the owner's.
void PortPlanner::CorrectGroups(const Owner& owner, HeldPort& held) {
  if (!held.known || !held.seen) {
    const auto port = FindHeld(owner, held);
    if (!port) return;
    held.known = driver_->OwnerIdOf(*port) == owner.id;
    held.seen = SeenNow(*port);
  }
  const std::vector<std::string> groups =
      isolation_->NextGroups(owner, PolicedPortOf(held), held.seen->groups);
  if (held.seen->groups == groups) return;
  held.seen = SeenNow(api_.UpdatePort(held.id, {.security_groups = groups}));
}

void PortPlanner::Verify(PortWork& work) {
  work.error.reset();
  for (HeldPort& held : work.ports) {
    if (!held.doubted) continue;
    try {
      (void)api_.GetPort(held.id);
    } catch (const NeutronError& e) {
      held.gone = e.kind() == NeutronError::Kind::kNotFound;
      if (!held.gone) work.error = PlanErrorOf(e, nullptr);
    }
  }
}

std::vector<std::string> PortPlanner::Missing(std::vector<std::string> ids) {
  const std::vector<std::string> there = api_.ExistingPorts(ids);
  const std::set<std::string> known(there.begin(), there.end());
  std::erase_if(ids, [&](const std::string& id) { return known.contains(id); });
  return ids;
}

void PortPlanner::Recognise(PortWork& work) {
  for (auto held = work.ports.begin(); held != work.ports.end();) {
    if (!held->told || Confirm(work, *held)) {
      ++held;
    } else {
      work.strange.push_back(held->id);
      held = work.ports.erase(held);
    }
  }
}

bool PortPlanner::Confirm(PortWork& work, HeldPort& held) {
  const auto port = FindHeld(work.owner, held);
  if (!port || PortPools::IsReady(*driver_, *port)) return false;
  held.known = driver_->OwnerIdOf(*port) == work.owner.id;
  if (held.known && !IsVifOf(*port, *held.vif)) held.vif.reset();
  held.seen = SeenNow(*port);
  held.told = false;
  return true;
}

void PortPlanner::FindAll(PortWork& work) {
  std::vector<Port> found = PortsOf(work.owner.id);
  std::erase_if(found, [&](const Port& port) {
    return FindById(work.removed, port.id) != work.removed.end();
  });
  for (HeldPort& held : work.ports) {
    held.known = std::any_of(found.begin(), found.end(),
                             [&](const Port& port) { return port.id == held.id; });
  }
  std::erase_if(work.ports, [](const HeldPort& held) { return !held.known && !held.written; });
  for (const Port& port : found) Find(work, port);
  work.must_search = false;
}

/// A server may ignore a filter that it does not know, and list all ports. So each is checked
/// again: the caller may delete what this returns.
std::vector<Port> PortPlanner::PortsOf(const std::string& owner_id) {
  PortFilter filter = driver_->FilterOf(owner_id);
  filter.project_id = defaults_.project;
  std::vector<Port> ports = api_.ListPorts(filter);
  std::erase_if(ports, [&](const Port& port) { return driver_->OwnerIdOf(port) != owner_id; });
  return ports;
}

/// One port stays for an interface that has several: the held one, or else the first.
void PortPlanner::Find(PortWork& work, const Port& port) {
  const std::string ifname = PartsOfName(port).ifname;
  const auto held = FindOf(work.ports, ifname);
  if (held != work.ports.end() && held->id != port.id) {
    if (held->known) driver_->Delete(port.id);
    return;
  }
  if (held == work.ports.end()) {
    Log(LogLevel::kInfo, "port found that was made before",
        {{"pod", work.owner.scope + "/" + work.owner.name}, {"port", port.id}});
    Hold(work, port);
  }
  if (!HasTags(port, defaults_.tags)) api_.SetTags(port.id, defaults_.tags);
}

std::vector<PortPlanner::Wanted> PortPlanner::MissingIn(const PortWork& work) {
  std::vector<Wanted> missing;
  for (const InterfaceRequest& interface : work.interfaces) {
    const bool is_there =
        std::any_of(work.ports.begin(), work.ports.end(),
                    [&](const HeldPort& port) { return port.ifname == interface.ifname; });
    if (is_there) continue;
    PodNetwork network = NetworkFor(work, interface);
    std::vector<std::string> groups = ChooseGroups(work, interface, network);
    missing.push_back({interface, std::move(network), std::move(groups)});
  }
  return missing;
}

std::vector<std::string> PortPlanner::ChooseGroups(const PortWork& work,
                                                   const InterfaceRequest& interface,
                                                   const PodNetwork& network) {
  std::vector<std::string> own =
      work.owner.is_node() ? GroupsOfNodes(defaults_) : GroupsFor(interface, work.scope, defaults_);
  if (isolation_ == nullptr) return own;
  PolicedPort port{.ifname = interface.ifname, .subnets = {}};
  for (const Subnet& subnet : network.subnets) port.subnets.insert(subnet.id);
  return isolation_->Choose(work.owner, port, std::move(own));
}

void PortPlanner::Create(PortWork& work) {
  const std::vector<Wanted> missing = MissingIn(work);
  if (missing.empty()) return;
  const PodNetwork& network = missing.front().network;
  try {
    Claim(work, missing);
    try {
      CreateAll(work, MissingIn(work));
    } catch (const NeutronError& e) {
      if (!pools_.MakeRoom(e, missing.size(), network)) throw;
      CreateAll(work, MissingIn(work));
    }
  } catch (const NeutronError& e) {
    work.must_search = work.must_search || e.uncertain();
    work.uncertain = work.uncertain || e.uncertain();
    if (isolation_ != nullptr && e.type() == kNoSecurityGroup) isolation_->Doubt();
    const bool is_quota = e.kind() == NeutronError::Kind::kQuota;
    throw PlanErrorOf(e, &network, is_quota ? quota_.Find() : std::nullopt);
  }
}

void PortPlanner::Claim(PortWork& work, const std::vector<Wanted>& missing) {
  for (const Wanted& wanted : missing) {
    auto port =
        pools_.Claim(work.owner, NodeOf(work), {wanted.interface, wanted.network, wanted.groups});
    if (!port) continue;
    // A bound one may be ACTIVE by the pod before, whose interface is about to go.
    port->active = port->active && defaults_.is_nested();
    Hold(work, *port);
    Join(work, *port, wanted.network);
  }
}

void PortPlanner::CreateAll(PortWork& work, const std::vector<Wanted>& missing) {
  if (missing.empty()) return;
  std::vector<PortRequest> requests;
  bool one_by_one = missing.size() == 1;
  const bool tags_later = TagsComeLater(api_, defaults_);
  for (const Wanted& wanted : missing) {
    pools_.Free(wanted.interface);
    requests.push_back(PortRequestOf(work.owner, wanted.interface, wanted.network, defaults_));
    // Without a group, an isolated pod's port drops everything.
    if (!wanted.groups.empty() || isolation_ != nullptr)
      requests.back().security_groups = wanted.groups;
    driver_->Describe(requests.back(), work.owner);
    if (tags_later && requests.back().description.empty())
      requests.back().description = MarkOf(defaults_);
    one_by_one = one_by_one || wanted.network.has_slaac;
  }
  const std::vector<Port> ports =
      one_by_one ? CreateEach(work, requests) : CreateInBulk(work, std::move(requests));
  for (size_t i = 0; i < ports.size(); ++i) Join(work, ports[i], missing[i].network);
}

void PortPlanner::Join(PortWork& work, const Port& port, const PodNetwork& network) {
  vif::Vif vif = driver_->Join(NodeOf(work), port, network);
  const auto held = FindById(work.ports, port.id);
  held->active = held->active || vif::Common(vif).active.value_or(false);
  held->vif = std::move(vif);
}

std::vector<Port> PortPlanner::CreateEach(PortWork& work,
                                          const std::vector<PortRequest>& requests) {
  std::vector<Port> ports;
  for (const PortRequest& request : requests) {
    ports.push_back(api_.CreatePort(request));
    Hold(work, ports.back());
  }
  return ports;
}

std::vector<Port> PortPlanner::CreateInBulk(PortWork& work, std::vector<PortRequest> requests) {
  const bool tags_later = TagsComeLater(api_, defaults_);
  if (tags_later) {
    for (PortRequest& request : requests) request.tags.clear();
  }
  std::vector<Port> ports = api_.CreatePorts(requests);
  for (const Port& port : ports) Hold(work, port);
  if (!tags_later) return ports;
  // A tag that fails is set once the ports are found.
  work.must_search = true;
  for (const Port& port : ports) api_.SetTags(port.id, defaults_.tags);
  work.must_search = false;
  return ports;
}

/// Each held port has a VIF afterwards.
void PortPlanner::Complete(PortWork& work) {
  for (const InterfaceRequest& interface : work.interfaces) {
    const auto held = FindOf(work.ports, interface.ifname);
    held->is_default = interface.is_default;
    if (held->vif) continue;
    const Port port = api_.GetPort(held->id);
    if (const std::string owner = driver_->OwnerIdOf(port); owner != work.owner.id)
      throw PlanError(Kind::kGone, "port " + port.id + " was given to the pod with UID \"" + owner +
                                       "\" meanwhile; this pod is planned anew");
    held->known = true;
    held->seen = SeenNow(port);
    const PodNetwork network = NetworkFor(work, interface);
    (void)ChooseGroups(work, interface, network);
    Join(work, port, network);
  }
}

PodNetwork PortPlanner::NetworkFor(const PortWork& work, const InterfaceRequest& interface) {
  std::vector<std::string> subnets = SubnetsFor(interface, work.owner.scope, defaults_);
  if (subnets.empty() && work.owner.is_node()) {
    throw PlanError(PlanError::Kind::kRefused,
                    "no subnet is for nodes, which [node_network] enabled asks for: it needs "
                    "[kubernetes] pod_subnets_driver = default");
  }
  if (subnets.empty()) subnets = scopes_.Find({.id = work.scope.id, .name = work.owner.scope});
  return networks_.Find(subnets);
}

bool PortPlanner::SweepScopes(const std::function<bool(const std::string& scope_id)>& is_there) {
  const auto remove_port = [this](const Port& port) {
    if (!PortPools::IsFree(*driver_, defaults_, port)) return false;
    driver_->Delete(port.id);
    return true;
  };
  return scopes_.SweepAll({.is_there = is_there, .remove_port = remove_port});
}

void PortPlanner::Undo(PortWork& work) {
  try {
    for (const HeldPort& port : work.ports) {
      if (!port.written && port.known) driver_->Delete(port.id);
    }
  } catch (const std::runtime_error& e) {
    Log(LogLevel::kWarning, "port not deleted; it will be tried again", {{"error", e.what()}});
    work.must_search = true;
  }
  std::erase_if(work.ports, [](const HeldPort& port) { return !port.written; });
}

void PortPlanner::Free(PortWork& work) {
  work.error.reset();
  try {
    for (const HeldPort& held : work.removed) {
      const auto port = FindHeld(work.owner, held);
      if (port && !pools_.Return(*port)) driver_->Delete(held.id);
      work.freed.push_back(held.id);
    }
  } catch (const NeutronError& e) {
    work.error = PlanErrorOf(e, nullptr);
  } catch (const PlanError& e) {
    work.error = e;
  }
}

void PortPlanner::Release(PortWork& work) {
  work.error.reset();
  work.ports.insert(work.ports.end(), work.removed.begin(), work.removed.end());
  try {
    for (const HeldPort& port : work.ports) work.must_search = work.must_search || !port.known;
    if (work.must_search || defaults_.pool.enabled) {
      for (const Port& port : PortsToRelease(work)) {
        if (!pools_.Return(port)) driver_->Delete(port.id);
      }
    } else {
      for (const HeldPort& port : work.ports) driver_->Delete(port.id);
    }
    work.ports.clear();
  } catch (const NeutronError& e) {
    work.error = PlanErrorOf(e, nullptr);
  } catch (const PlanError& e) {
    work.error = e;
  }
}

std::vector<Port> PortPlanner::PortsToRelease(const PortWork& work) {
  std::vector<Port> ports;
  if (work.must_search) ports = PortsOf(work.owner.id);
  if (!defaults_.pool.enabled) return ports;
  for (const HeldPort& held : work.ports) {
    const bool is_found = std::any_of(ports.begin(), ports.end(),
                                      [&](const Port& port) { return port.id == held.id; });
    if (is_found) continue;
    if (auto port = FindHeld(work.owner, held)) ports.push_back(std::move(*port));
  }
  return ports;
}

std::optional<Port> PortPlanner::FindHeld(const Owner& owner, const HeldPort& held) {
  try {
    Port port = api_.GetPort(held.id);
    const bool is_owners = driver_->OwnerIdOf(port) == owner.id;
    // Its return had no answer.
    const bool is_back = held.known && PortPools::IsReady(*driver_, port);
    if (is_owners || is_back || (held.written && IsLeft(port))) return port;
  } catch (const NeutronError& e) {
    if (e.kind() != NeutronError::Kind::kNotFound) throw;
  }
  return std::nullopt;
}

/// Kuryr's pools without port_debug never say whose a port is.
bool PortPlanner::IsLeft(const Port& port) const {
  return driver_->OwnerIdOf(port).empty() && port.device_id.empty() && !defaults_.tags.empty() &&
         HasTags(port, defaults_.tags);
}

}  // namespace kuryr::controller::neutron
