#include "controller/backends/ovn/ovn_backend.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <utility>

#include "controller/backends/ovn/northbound/schema.h"
#include "controller/backends/pools/pool_vif.h"

namespace kuryr::controller::ovn {
namespace {

/// The endpoints of a namespace's Services: at 25 bytes, 0.5 MB in each copy of the database. In a
/// cluster of 50 nodes they are 45 MB in each ovn-controller and ovs-vswitchd. 2,500 ports, which
/// count as much, are 440 MB.
constexpr size_t kMostEndpoints = 20'000;

std::vector<RowKey> KeysOf(const std::vector<WantedRow>& rows) {
  std::vector<RowKey> keys;
  keys.reserve(rows.size());
  for (const WantedRow& row : rows) keys.push_back(row.key);
  return keys;
}

std::map<std::string, std::string> NamesById(const std::vector<pools::Pool>& pools) {
  std::map<std::string, std::string> names;
  for (const pools::Pool& pool : pools) names.emplace(pools::NetworkIdOf(pool.name), pool.name);
  return names;
}

/// The network of the interface, as in MemberOf. A network without a pool has its id as a name, as
/// its port is on an additional network all the same.
std::string NetworkOf(const vif::PodVif& planned, const std::map<std::string, std::string>& names) {
  if (planned.ifname == vif::kDefaultIfname) return "";
  const vif::VifBase& vif = vif::Common(planned.vif);
  const std::string id = vif.network.has_value() ? vif.network->id.value_or("") : "";
  const auto name = names.find(id);
  return name == names.end() ? "network/" + id : name->second;
}

/// The keys of `all` that `kept` lacks.
std::vector<RowKey> Without(const std::vector<RowKey>& all, const std::vector<RowKey>& kept) {
  std::vector<RowKey> rest;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rest), [&](const RowKey& key) {
    return std::find(kept.begin(), kept.end(), key) == kept.end();
  });
  return rest;
}

bool HaveAny(const std::set<policy::PodSet>& sets, const std::set<policy::PodSet>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const policy::PodSet& set) { return sets.contains(set); });
}

}  // namespace

OvnBackend::OvnBackend(const OvnOptions& options, const BackendHooks& hooks,
                       std::chrono::milliseconds grace)
    : hooks_(hooks),
      pools_(options.pools, std::random_device()(), std::chrono::steady_clock::now, hooks.wake),
      balances_services_(options.balances_services),
      topology_(options),
      balancers_(options, topology_.SharedSwitches()),
      networks_(NamesById(options.pools)),
      policies_(options.cluster),
      budget_(kMostEndpoints),
      zones_(options.cluster, topology_.SharedSwitches()),
      tracer_(options),
      northbound_({.remotes = options.nb_connection,
                   .cluster = options.cluster,
                   .hooks = {.may_write = hooks.may_write,
                             .told = [this](const std::vector<RowKey>& keys) { OnTold(keys); }},
                   .grace = grace}) {
  northbound_.Want(topology_.SharedRows());
  if (balances_services_ && zones_.size() > 0) northbound_.Want({zones_.GroupRow("")});
  if (options.sb_connection.empty()) return;
  BackendHooks of_southbound = hooks;
  of_southbound.may_write = [this] {
    return (!hooks_.may_write || hooks_.may_write()) && northbound_.HasOurRows();
  };
  southbound_.emplace(Southbound::Parts{.remotes = options.sb_connection,
                                        .cluster = options.cluster,
                                        .hooks = std::move(of_southbound)});
}

std::vector<WantedRow> OvnBackend::Police(const std::vector<vif::PodVif>& vifs,
                                          std::vector<WantedRow> rows, Account& account) const {
  std::map<RowKey, std::string> networks;
  for (const vif::PodVif& planned : vifs) {
    const RowKey key = {kSwitchPort, vif::Common(planned.vif).id.value_or("")};
    networks.emplace(key, NetworkOf(planned, networks_));
  }
  for (WantedRow& row : rows) {
    const auto network = networks.find(row.key);
    if (network == networks.end()) continue;
    account.ports.push_back({.network = network->second, .row = row});
    row = WithPolicies(account.owner.id, account.ports.back());
  }
  return rows;
}

WantedRow OvnBackend::WithPolicies(const std::string& pod_uid, const PolicedPort& port) const {
  WantedRow row = port.row;
  for (Place& place :
       policies_.PlacesIn(policy::SetsOf(policies_.members(), pod_uid, port.network)))
    row.places.push_back(std::move(place));
  return row;
}

void OvnBackend::AppendPorts(const policy::PolicyMember& member,
                             std::vector<WantedRow>& rows) const {
  const std::string uid = policy::PodOf(member);
  const auto account = accounts_.find(uid);
  if (account == accounts_.end()) return;
  const bool is_any = member == policy::MemberOf(uid, policy::kAnyNetwork);
  for (const PolicedPort& port : account->second.ports) {
    if (is_any ? !port.network.empty() : member == policy::MemberOf(uid, port.network))
      rows.push_back(WithPolicies(uid, port));
  }
}

/// A row that is not settled yet is told of later, for it takes the lock.
void OvnBackend::AppendIsolation(const Owner& owner, std::vector<RowKey>& keys) {
  const auto account = accounts_.find(owner.id);
  if (account == accounts_.end()) return;
  std::set<policy::PodSet> sets;
  for (const PolicedPort& port : account->second.ports)
    sets.merge(policy::SetsOf(policies_.members(), owner.id, port.network));
  for (RowKey& key : policies_.IsolationOf(sets)) {
    if (!northbound_.StateOf({key}).settled) awaiting_[key].insert(owner.id);
    keys.push_back(std::move(key));
  }
}

/// All under the lock: a row that was made before a policy changed must not come after it.
std::vector<RowKey> OvnBackend::Want(const Owner& owner, const std::vector<vif::PodVif>& vifs,
                                     Turn turn) {
  std::vector<WantedRow> rows = topology_.RowsOf(owner, vifs);
  std::vector<RowKey> keys = KeysOf(rows);
  const MutexLock lock(mutex_);
  Account& account = accounts_[owner.id];
  const std::vector<RowKey> old = Without(account.rows, keys);
  account = {.owner = owner, .rows = keys, .ports = {}};
  for (const RowKey& key : old) owners_.erase(key);
  for (const RowKey& key : keys) owners_[key] = owner.id;
  if (!owner.is_node()) rows = Police(vifs, std::move(rows), account);
  const bool has_switch = std::find(keys.begin(), keys.end(), NodeSwitch(owner.node)) != keys.end();
  if (turn == Turn::kFirst) {
    northbound_.WantFirst(std::move(rows), old);
  } else {
    northbound_.Want(std::move(rows), old);
  }
  if (has_switch) OnZones(zones_.Add(owner.node));
  AppendIsolation(owner, keys);
  return keys;
}

/// A policy without rules has no port groups. So a set may have members before it has a group.
void OvnBackend::Enforce(const policy::PolicyChanges& changes) {
  const MutexLock lock(mutex_);
  PolicyRows::Changes rows = policies_.Take(changes.policies, changes.pods);
  if (!rows.groups.empty()) {
    for (const auto& [member, sets] : policies_.members()) {
      if (!changes.pods.contains(member) && HaveAny(sets, rows.groups))
        AppendPorts(member, rows.wanted);
    }
  }
  for (const auto& [member, sets] : changes.pods) AppendPorts(member, rows.wanted);
  if (rows.together) {
    northbound_.WantTogether(std::move(rows.wanted), rows.dropped);
  } else {
    northbound_.Want(std::move(rows.wanted), rows.dropped);
  }
}

void OvnBackend::EndAdoption() {
  northbound_.Begin(IsPolicyRow);
  if (southbound_) southbound_->Begin();
}

std::optional<std::string> OvnBackend::FindRefusal(const std::string& name) const {
  std::vector<RowKey> rows;
  {
    const MutexLock lock(mutex_);
    rows = policies_.RowsOf(name);
  }
  return northbound_.RefusalOf(rows);
}

void OvnBackend::WakePolicies(const std::vector<RowKey>& keys) {
  if (!hooks_.wake_policy || !northbound_.RefusalOf(keys)) return;
  std::set<std::string> policies;
  {
    const MutexLock lock(mutex_);
    policies = policies_.PoliciesWith(keys);
  }
  for (const std::string& policy : policies) hooks_.wake_policy(policy);
}

/// Wakes the owners of the rows, and pods that wait until they are isolated.
void OvnBackend::OnTold(const std::vector<RowKey>& keys) {
  std::vector<Owner> owners;
  {
    const MutexLock lock(mutex_);
    std::set<std::string> ids;
    for (const RowKey& key : keys) {
      const auto id = owners_.find(key);
      if (id != owners_.end()) ids.insert(id->second);
      if (const auto awaiting = awaiting_.extract(key)) ids.merge(awaiting.mapped());
    }
    owners.reserve(ids.size());
    for (const std::string& id : ids) {
      const auto account = accounts_.find(id);
      if (account != accounts_.end()) owners.push_back(account->second.owner);
    }
  }
  for (const Owner& owner : owners) hooks_.wake(owner);
  WakePolicies(keys);
}

std::optional<std::vector<vif::PodVif>> OvnBackend::Reserve(const PlanRequest& request) {
  auto vifs = pools_.Reserve(request);
  if (!vifs) return std::nullopt;
  const Northbound::State state = northbound_.StateOf(Want(request.owner, *vifs, Turn::kFirst));
  if (!state.failure.empty()) throw PlanError(PlanError::Kind::kRetry, state.failure);
  if (!state.settled) return std::nullopt;
  return vifs;
}

void OvnBackend::Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  Want(owner, vifs);
  pools_.Adopt(owner, vifs);
}

bool OvnBackend::Await(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  std::vector<RowKey> keys = KeysOf(topology_.RowsOf(owner, vifs));
  {
    const MutexLock lock(mutex_);
    AppendIsolation(owner, keys);
  }
  return northbound_.StateOf(keys).settled;
}

bool OvnBackend::Release(const std::string& owner_id) {
  std::vector<RowKey> rows;
  {
    const MutexLock lock(mutex_);
    const auto account = accounts_.find(owner_id);
    if (account != accounts_.end()) {
      rows = account->second.rows;
      if (account->second.owner.is_node()) OnZones(zones_.Remove(account->second.owner.node));
    }
  }
  northbound_.Drop(rows);
  if (!northbound_.StateOf(rows).settled) return false;
  {
    const MutexLock lock(mutex_);
    for (const RowKey& key : rows) owners_.erase(key);
    accounts_.erase(owner_id);
  }
  return pools_.Release(owner_id);
}

void OvnBackend::ReleaseBut(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  Want(owner, vifs);
  pools_.ReleaseBut(owner, vifs);
}

void OvnBackend::Balance(const std::string& name, const Service& service) {
  const MutexLock lock(mutex_);
  for (auto& [each, form] : budget_.Take(name, service, zones_.size())) {
    northbound_.Replace(LoadBalancers::PrefixesOf(each), balancers_.RowsOf(each, form, zones_));
    preferring_.erase(each);
    if (HasPreferences(form)) preferring_.emplace(each, std::move(form));
  }
}

void OvnBackend::SetZone(const std::string& node, const std::string& zone) {
  const MutexLock lock(mutex_);
  OnZones(zones_.Move(node, zone));
}

void OvnBackend::OnZones(const std::set<std::string>& changed) {
  if (!balances_services_ || changed.empty()) return;
  std::vector<WantedRow> groups;
  std::vector<RowKey> gone;
  for (const std::string& zone : changed) {
    if (zones_.switches().contains(zone)) {
      groups.push_back(zones_.GroupRow(zone));
    } else {
      gone.push_back(ZoneGroup(zone));
    }
  }
  northbound_.Want(std::move(groups), gone);
  for (const auto& [name, form] : preferring_)
    northbound_.Replace(LoadBalancers::PrefixesOf(name), balancers_.RowsOf(name, form, zones_));
}

std::optional<std::string> OvnBackend::WhyNotBalanced(const std::string& name) const {
  const MutexLock lock(mutex_);
  return budget_.WhyNotBalanced(name);
}

void OvnBackend::SetClusterUid(const std::string& uid) {
  northbound_.Claim(topology_.RouterRow(uid), uid);
}

void OvnBackend::WriteTo(service::MetricsText& text) const {
  pools_.WriteTo(text);
  northbound_.WriteTo(text);
  const MutexLock lock(mutex_);
  text.Metric("kuryr_controller_services_not_balanced", "gauge",
              "Services that exceed a bound: kube-proxy serves pods in place of OVN.",
              static_cast<double>(budget_.waiting()));
}

}  // namespace kuryr::controller::ovn
