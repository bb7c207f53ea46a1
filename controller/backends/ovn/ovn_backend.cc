#include "controller/backends/ovn/ovn_backend.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <utility>

#include "controller/backends/ovn/load_balancers.h"

namespace kuryr::controller::ovn {
namespace {

std::vector<RowKey> KeysOf(const std::vector<WantedRow>& rows) {
  std::vector<RowKey> keys;
  keys.reserve(rows.size());
  for (const WantedRow& row : rows) keys.push_back(row.key);
  return keys;
}

/// The keys of `all` that `kept` lacks.
std::vector<RowKey> Without(const std::vector<RowKey>& all, const std::vector<RowKey>& kept) {
  std::vector<RowKey> rest;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rest), [&](const RowKey& key) {
    return std::find(kept.begin(), kept.end(), key) == kept.end();
  });
  return rest;
}

}  // namespace

OvnBackend::OvnBackend(const OvnOptions& options, const BackendHooks& hooks,
                       std::chrono::milliseconds grace)
    : hooks_(hooks),
      cluster_(options.cluster),
      pools_(options.pools, std::random_device()(), std::chrono::steady_clock::now, hooks.wake),
      topology_(options),
      northbound_({.remotes = options.nb_connection,
                   .cluster = options.cluster,
                   .hooks = {.may_write = hooks.may_write,
                             .told = [this](const std::vector<RowKey>& keys) { OnTold(keys); }},
                   .grace = grace}) {
  northbound_.Want(topology_.SharedRows());
}

std::vector<RowKey> OvnBackend::Want(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  std::vector<WantedRow> rows = topology_.RowsOf(owner, vifs);
  std::vector<RowKey> keys = KeysOf(rows);
  std::vector<RowKey> old;
  {
    const MutexLock lock(mutex_);
    Account& account = accounts_[owner.id];
    old = Without(account.rows, keys);
    account = {.owner = owner, .rows = keys};
    for (const RowKey& key : old) owners_.erase(key);
    for (const RowKey& key : keys) owners_[key] = owner.id;
  }
  northbound_.Drop(old);
  northbound_.Want(std::move(rows));
  return keys;
}

/// Wakes the owners of the rows.
void OvnBackend::OnTold(const std::vector<RowKey>& keys) {
  std::vector<Owner> owners;
  {
    const MutexLock lock(mutex_);
    std::set<std::string> ids;
    for (const RowKey& key : keys) {
      const auto id = owners_.find(key);
      if (id == owners_.end() || !ids.insert(id->second).second) continue;
      owners.push_back(accounts_.at(id->second).owner);
    }
  }
  for (const Owner& owner : owners) hooks_.wake(owner);
}

std::optional<std::vector<vif::PodVif>> OvnBackend::Reserve(const PlanRequest& request) {
  northbound_.DropUnknown();
  auto vifs = pools_.Reserve(request);
  if (!vifs) return std::nullopt;
  const Northbound::State state = northbound_.StateOf(Want(request.owner, *vifs));
  if (!state.failure.empty()) throw PlanError(PlanError::Kind::kRetry, state.failure);
  if (!state.settled) return std::nullopt;
  return vifs;
}

void OvnBackend::Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  Want(owner, vifs);
  pools_.Adopt(owner, vifs);
}

bool OvnBackend::Await(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  return northbound_.StateOf(KeysOf(topology_.RowsOf(owner, vifs))).settled;
}

bool OvnBackend::Release(const std::string& owner_id) {
  northbound_.DropUnknown();
  std::vector<RowKey> rows;
  {
    const MutexLock lock(mutex_);
    const auto account = accounts_.find(owner_id);
    if (account != accounts_.end()) rows = account->second.rows;
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
  std::vector<WantedRow> rows = BalancersOf(cluster_, name, service);
  northbound_.Drop(Without(BalancerKeysOf(name), KeysOf(rows)));
  northbound_.Want(std::move(rows));
}

void OvnBackend::WriteTo(service::MetricsText& text) const {
  pools_.WriteTo(text);
  northbound_.WriteTo(text);
}

}  // namespace kuryr::controller::ovn
