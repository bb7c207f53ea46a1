#include "controller/backends/neutron/neutron_backend.h"

#include <utility>

#include "base/log.h"

namespace kuryr::controller::neutron {

using tasks::OwnerWork;

NeutronBackend::NeutronBackend(Parts parts)
    : hooks_(std::move(parts.hooks)),
      times_(parts.times),
      defaults_(std::move(parts.defaults)),
      isolation_(MakeIsolation(parts.api)),
      planner_(parts.api, defaults_, PoolHooksOf(), isolation_.get()),
      work_({.may_write = hooks_.may_write,
             .run = [this](Task task, const auto& request) { return Run(task, request); },
             .wake = hooks_.wake},
            {.retry_least = times_.retry_least, .retry_most = times_.retry_most}, parts.workers),
      poll_(parts.api, times_.pace, [this](const auto& ids) { OnActive(ids); }),
      filler_(MakeFiller()),
      find_late_ports_("find late ports", hooks_.may_write, [this](auto&) { FindLatePorts(); }),
      look_at_waiting_("look at waiting ports", hooks_.may_write,
                       [this](auto&) { LookFor(poll_.ids()); }),
      look_at_written_("look at written ports", hooks_.may_write,
                       [this](service::Chore& chore) {
                         const std::vector<std::string> ids = WrittenPorts();
                         LookFor(ids);
                         chore.Want(ids.empty() ? times_.look_at_waiting : times_.look);
                       }),
      sweep_scopes_("sweep networks of scopes", hooks_.may_write,
                    [this](service::Chore& chore) {
                      if (!planner_.SweepScopes(hooks_.is_scope)) chore.Retry();
                    }),
      sweep_orphans_("sweep ports of pods that are gone", hooks_.may_write,
                     [this](service::Chore& chore) {
                       LookForOrphans();
                       chore.Want(defaults_.orphan_interval);
                     }),
      write_groups_("write security groups", hooks_.may_write,
                    [this](service::Chore& chore) { isolation_->Run(chore); }) {
  if (times_.search.count() > 0) find_late_ports_.Want(times_.search);
  look_at_written_.Want(times_.look_at_waiting);
}

PoolHooks NeutronBackend::PoolHooksOf() {
  return {.want = [this](const PoolNeed& need) { filler_->Want(need); },
          .doubt = [this] { filler_->Doubt(); }};
}

std::unique_ptr<PoolFiller> NeutronBackend::MakeFiller() {
  if (!planner_.pool_options().enabled) return nullptr;
  PoolFiller::Hooks hooks{.may_write = hooks_.may_write,
                          .is_held = [this](const std::string& port) { return IsHeld(port); }};
  return std::make_unique<PoolFiller>(planner_.pool_means(), std::move(hooks), times_.pool);
}

std::unique_ptr<Isolation> NeutronBackend::MakeIsolation(NeutronApi& api) {
  if (!defaults_.enforces_policies) return nullptr;
  Isolation::Hooks hooks{
      .want_run = [this] { write_groups_.Want(); },
      .find_differing = [this] { return FindDiffering(); },
      .regroup = [this](const std::string& owner_id) { return Regroup(owner_id); },
      .tell =
          [this](const std::set<std::string>& policies) {
            for (const std::string& policy : policies) {
              if (hooks_.wake_policy) hooks_.wake_policy(policy);
            }
          }};
  return std::make_unique<Isolation>(api, defaults_, std::move(hooks), times_.look);
}

bool NeutronBackend::Regroup(const std::string& owner_id) {
  const MutexLock lock(work_.mutex());
  if (!work_.IsHeld(owner_id)) return false;
  work_.Update(owner_id);
  return true;
}

std::set<std::string> NeutronBackend::FindDiffering() {
  const auto listed = planner_.cluster_ports().Seen();
  std::set<std::string> owners;
  const MutexLock lock(work_.mutex());
  for (const auto& [owner, port] : ledger_.Ports()) {
    if (!port->seen && !port->active) owners.insert(owner->id);
  }
  for (const auto& [port, seen] : listed) ledger_.Note(port, seen);
  for (const auto& [owner, port] : ledger_.Ports()) {
    const PolicedPort policed = PolicedPortOf(*port);
    if (port->seen) isolation_->Learn(owner->id, policed, port->seen->groups);
    if (!port->seen || port->seen->groups != isolation_->GroupsOf(*owner, policed))
      owners.insert(owner->id);
  }
  return owners;
}

std::optional<std::string> NeutronBackend::WhyNotListed() const {
  if (planner_.has_tags()) return std::nullopt;
  return "[neutron_defaults] resource_tags names no tags";
}

bool NeutronBackend::IsHeld(const std::string& port_id) const {
  const MutexLock lock(work_.mutex());
  return ledger_.FindOwnerOf(port_id) != nullptr;
}

NeutronBackend::~NeutronBackend() { work_.Stop(); }

bool NeutronBackend::Open(const Owner& owner) {
  const auto opened = work_.Open(owner);
  if (opened == OwnerWork::Opened::kNew) ledger_.Open(owner, IsYoung());
  return opened != OwnerWork::Opened::kReleasing;
}

std::optional<std::vector<vif::PodVif>> NeutronBackend::Reserve(const PlanRequest& request) {
  // All plans that are written have been adopted.
  if (filler_) filler_->Begin();
  const MutexLock lock(work_.mutex());
  if (!Open(request.owner)) return std::nullopt;
  if (isolation_ && !isolation_->MayPlan(request.owner.id, PolicedPorts(request.owner.id)))
    return std::nullopt;
  auto vifs = ledger_.VifsFor(request.owner.id, request.interfaces);
  if (!vifs) work_.Plan(request);
  return vifs;
}

/// A pod has interface eth0 before it has a port.
std::vector<PolicedPort> NeutronBackend::PolicedPorts(const std::string& owner_id) const {
  std::vector<PolicedPort> ports = {{.ifname = std::string(vif::kDefaultIfname), .subnets = {}}};
  for (const HeldPort& held : ledger_.Find(owner_id)->ports) ports.push_back(PolicedPortOf(held));
  return ports;
}

bool NeutronBackend::Owns(const Owner& /*owner*/, const vif::PodVif& vif) const {
  return planner_.Makes(vif.vif);
}

void NeutronBackend::Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  const MutexLock lock(work_.mutex());
  std::optional<std::string> conflict;
  for (const vif::PodVif& vif : vifs) {
    if (owner.id.empty() || !Owns(owner, vif) || !Open(owner)) continue;
    const auto taken = ledger_.Take(ledger_.At(owner.id), vif);
    const HeldPort* const held = ledger_.At(owner.id).Find(vif::Common(vif.vif).id.value_or(""));
    if (isolation_ && held != nullptr && !held->seen) isolation_->Doubt();
    // The search finds the port that was never written, and deletes it.
    if (taken == PortLedger::Taken::kInstead) work_.SearchAfter(owner.id, {});
    if (taken != PortLedger::Taken::kAnothers || conflict) continue;
    const std::string port = vif::Common(vif.vif).id.value_or("");
    const auto* const other = ledger_.FindOwnerOf(port);
    const bool same_scope = other && other->owner.scope == owner.scope;
    conflict = "Neutron's port " + port + " is " +
               (same_scope ? owner.scope + "/" + other->owner.name : "another pod") + "'s";
  }
  if (conflict) throw PlanError(PlanError::Kind::kRefused, *conflict);
}

bool NeutronBackend::Await(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  const MutexLock lock(work_.mutex());
  const auto* const account = ledger_.Find(owner.id);
  if (!account || (isolation_ && isolation_->IsDue(owner.id))) return false;
  bool all = true;
  for (const vif::PodVif& vif : vifs) {
    const HeldPort* const held = account->Find(vif::Common(vif.vif).id.value_or(""));
    if (!held) return false;
    // FindDiffering has it woken.
    if (isolation_ && !held->seen) return false;
    if (held->active) continue;
    all = false;
    poll_.Add(held->id);
  }
  if (!all) look_at_waiting_.Want(times_.look_at_waiting);
  return all;
}

std::optional<std::string> NeutronBackend::FindLost(const Owner& owner) const {
  const MutexLock lock(work_.mutex());
  const auto* const account = ledger_.Find(owner.id);
  if (!account) return std::nullopt;
  std::string lost;
  for (const HeldPort& port : account->ports) {
    if (port.gone) lost += (lost.empty() ? "" : ", ") + port.ifname + "'s port " + port.id;
  }
  if (lost.empty()) return std::nullopt;
  return "Neutron has no more " + lost +
         ", which somebody has deleted there; what is plugged gets " +
         "no packets, and a pod that is made anew gets another port";
}

size_t NeutronBackend::lost() const {
  const MutexLock lock(work_.mutex());
  return ledger_.gone();
}

uint64_t NeutronBackend::released_orphans() const {
  const MutexLock lock(work_.mutex());
  return released_orphans_;
}

void NeutronBackend::OnActive(const std::vector<std::string>& ids) {
  std::vector<Owner> ready;
  {
    const MutexLock lock(work_.mutex());
    ready = ledger_.MarkActive(ids);
  }
  for (const Owner& owner : ready) hooks_.wake(owner);
}

void NeutronBackend::FindLatePorts() {
  const std::vector<ListedPort> ports = planner_.cluster_ports().Owned();
  const MutexLock lock(work_.mutex());
  for (const ListedPort& port : ports) {
    const auto* const account = ledger_.Find(port.owner_id);
    if (account && !account->Find(port.id)) work_.SearchAfter(port.owner_id, {});
  }
}

std::vector<std::string> NeutronBackend::WrittenPorts() {
  const MutexLock lock(work_.mutex());
  return ledger_.Written([this](const std::string& owner_id) KURYR_TSA(requires_capability(
                             work_.mutex())) { return work_.IsHeld(owner_id); });
}

void NeutronBackend::LookFor(const std::vector<std::string>& ids) {
  if (ids.empty()) return;
  const std::vector<std::string> missing = planner_.Missing(ids);
  const MutexLock lock(work_.mutex());
  for (const std::string& id : missing) {
    if (const auto owner = ledger_.Doubt(id)) work_.Verify(*owner);
  }
  if (poll_.waiting() > 0) look_at_waiting_.Want(times_.look_at_waiting);
}

bool NeutronBackend::Release(const std::string& owner_id) {
  // An empty id would match every port in Neutron.
  if (owner_id.empty()) return true;
  const MutexLock lock(work_.mutex());
  if (IsYoung() && !work_.IsKnown(owner_id)) Open({.id = owner_id});
  if (const auto* const account = ledger_.Find(owner_id)) {
    for (const HeldPort& port : account->ports) poll_.Remove(port.id);
  }
  return work_.Release(owner_id);
}

void NeutronBackend::ReleaseBut(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  const MutexLock lock(work_.mutex());
  if (!work_.IsHeld(owner.id)) return;
  const std::vector<std::string> removed = ledger_.Keep(ledger_.At(owner.id), vifs);
  for (const std::string& port : removed) poll_.Remove(port);
  if (!removed.empty()) work_.SearchAfter(owner.id, {});
}

void NeutronBackend::SweepScopes() {
  if (planner_.has_scope_networks() && hooks_.is_scope) sweep_scopes_.Want();
}

void NeutronBackend::EndAdoption() {
  if (isolation_) isolation_->EndAdoption();
  if (defaults_.orphan_interval.count() > 0 && hooks_.is_gone) sweep_orphans_.Want();
}

void NeutronBackend::LookForOrphans() {
  std::vector<Owner> idle = planner_.cluster_ports().IdlePods();
  {
    const MutexLock lock(work_.mutex());
    std::erase_if(orphans_, [this](const std::string& id) KURYR_TSA(
                                requires_capability(work_.mutex())) { return work_.Release(id); });
    std::erase_if(idle, [this](const Owner& owner) KURYR_TSA(requires_capability(work_.mutex())) {
      return work_.IsKnown(owner.id);
    });
  }
  std::erase_if(idle, [this](const Owner& owner) { return !hooks_.is_gone(owner); });
  std::set<std::string> suspects;
  for (const Owner& owner : idle) {
    if (suspects_.contains(owner.id)) {
      ReleaseOrphan(owner);
    } else {
      suspects.insert(owner.id);
    }
  }
  suspects_.swap(suspects);
}

void NeutronBackend::ReleaseOrphan(const Owner& owner) {
  const MutexLock lock(work_.mutex());
  if (work_.Open(owner) != OwnerWork::Opened::kNew) return;
  Log(LogLevel::kInfo, "releases the ports of a pod that is gone",
      {{"pod", owner.scope + "/" + owner.name}, {"uid", owner.id}});
  ledger_.Open(owner, true);
  (void)work_.Release(owner.id);
  orphans_.insert(owner.id);
  ++released_orphans_;
}

std::vector<Owner> NeutronBackend::Inventory() const { return planner_.cluster_ports().Owners(); }

std::optional<PlanError> NeutronBackend::Run(Task task, const PlanRequest& request) {
  PortWork work = WorkFor(request);
  switch (task) {
    case Task::kVerify:
      planner_.Verify(work);
      // The next look doubts again a port about which Neutron did not answer.
      work.error.reset();
      break;
    case Task::kUpdate:
      if (isolation_->IsWaiting(work.owner.id)) break;
      planner_.Regroup(work);
      break;
    case Task::kPlan:
      planner_.Plan(work);
      break;
    case Task::kSearch:
      planner_.Search(work);
      if (!work.error) planner_.Free(work);
      break;
    case Task::kRelease:
      planner_.Release(work);
      break;
  }
  if (work.error) {
    if (const auto rest = OwnerWork::RestOf(*work.error)) planner_.pool_means().ready.Rest(*rest);
  }
  Finish(task, work);
  if (isolation_ && task == Task::kUpdate) isolation_->Tried(work.owner.id, !work.error);
  if (isolation_ && task == Task::kRelease) isolation_->Forget(work.owner.id);
  return work.error;
}

PortWork NeutronBackend::WorkFor(const PlanRequest& request) {
  const MutexLock lock(work_.mutex());
  const auto& account = ledger_.At(request.owner.id);
  return {.owner = request.owner,
          .scope = request.scope,
          .node_addresses = request.node_addresses,
          .interfaces = request.interfaces,
          .ports = account.ports,
          .removed = account.removed,
          .must_search = account.must_search};
}

void NeutronBackend::Finish(Task task, const PortWork& work) {
  const MutexLock lock(work_.mutex());
  PortLedger::Account& account = ledger_.At(work.owner.id);
  account.must_search = work.must_search;
  if (task == Task::kRelease && !work.error) return ledger_.Close(work.owner.id);
  if (task == Task::kRelease) {
    Log(LogLevel::kWarning, "ports not deleted; it will be tried again",
        {{"pod", work.owner.scope + "/" + work.owner.name}, {"error", work.error->what()}});
  } else if (task == Task::kVerify) {
    for (const std::string& gone : ledger_.Settle(account, work.ports)) poll_.Remove(gone);
  } else {
    for (const std::string& strange : work.strange) {
      poll_.Remove(strange);
      ledger_.Lose(account, strange);
    }
    ledger_.Forget(account, work.freed);
    if (!ledger_.Merge(account, work.ports)) work_.SearchAfter(work.owner.id, {});
    if (task == Task::kPlan) FinishPlan(account, work);
  }
}

void NeutronBackend::FinishPlan(PortLedger::Account& account, const PortWork& work) {
  account.uncertain = account.uncertain || work.uncertain;
  if (work.error) return;
  if (account.uncertain) work_.SearchAfter(work.owner.id, times_.search);
  account.uncertain = false;
}

namespace {

std::string ListOf(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ",") + text;
  return list;
}

void WritePools(const std::map<PoolKey, PoolCounts>& pools, service::MetricsText& text) {
  if (pools.empty()) return;
  PoolCounts all;
  text.Head("kuryr_controller_neutron_pool_ports", "gauge", "Ports that are ready for pods.");
  for (const auto& [key, counts] : pools) {
    text.Sample("kuryr_controller_neutron_pool_ports",
                {{"place", key.place}, {"subnets", ListOf(key.subnets)}},
                static_cast<double>(counts.ready));
    all.Add(counts);
  }
  text.Metric("kuryr_controller_neutron_pool_claims_total", "counter",
              "Ready ports that became pods'.", static_cast<double>(all.claims));
  text.Metric("kuryr_controller_neutron_pool_conflicts_total", "counter",
              "Ready ports that somebody else had by then.", static_cast<double>(all.conflicts));
  text.Metric("kuryr_controller_neutron_pool_misses_total", "counter",
              "Interfaces that found no port ready.", static_cast<double>(all.misses));
  text.Metric("kuryr_controller_neutron_pool_returns_total", "counter",
              "Released ports that are ready again.", static_cast<double>(all.returns));
  text.Head("kuryr_controller_neutron_pool_fills_total", "counter", "Fills of a pool.");
  text.Sample("kuryr_controller_neutron_pool_fills_total", {{"outcome", "ok"}},
              static_cast<double>(all.fills));
  text.Sample("kuryr_controller_neutron_pool_fills_total", {{"outcome", "failed"}},
              static_cast<double>(all.failed_fills));
}

void WriteIsolation(const Isolation::Figures& figures, service::MetricsText& text) {
  text.Metric("kuryr_controller_neutron_policy_groups", "gauge", "Security groups of policies.",
              static_cast<double>(figures.groups));
  text.Metric("kuryr_controller_neutron_policy_refused_groups", "gauge",
              "Groups that Neutron refuses, or whose rules it refuses.",
              static_cast<double>(figures.refused));
  text.Metric("kuryr_controller_neutron_policy_rules", "gauge", "Rules of these groups.",
              static_cast<double>(figures.rules));
  text.Metric("kuryr_controller_neutron_policy_due_ports", "gauge",
              "Pods whose ports are about to get other groups.", static_cast<double>(figures.due));
}

}  // namespace

void NeutronBackend::WriteTo(service::MetricsText& text) const {
  text.Metric("kuryr_controller_neutron_waiting_ports", "gauge",
              "Ports of written plans that are not ACTIVE yet.", static_cast<double>(waiting()));
  text.Metric("kuryr_controller_neutron_lost_ports", "gauge",
              "Ports of active plans that Neutron has no more.", static_cast<double>(lost()));
  text.Metric("kuryr_controller_neutron_orphans_released_total", "counter",
              "Pods that were gone, whose ports an earlier leader had left.",
              static_cast<double>(released_orphans()));
  WritePools(pools(), text);
  if (isolation_) WriteIsolation(isolation_->figures(), text);
}

}  // namespace kuryr::controller::neutron
