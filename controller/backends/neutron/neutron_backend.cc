#include "controller/backends/neutron/neutron_backend.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = BackendError::Kind;
using std::chrono::milliseconds;

/// While another controller may lead.
constexpr std::chrono::seconds kMayWriteAgain{1};
/// No owner's id: a round that looks for late ports.
constexpr const char* kLatePorts = "";
/// Nor are these: rounds that look whether ports are there, those of all plans and those that wait.
constexpr const char* kAllPorts = "/all";
constexpr const char* kWaitingPorts = "/waiting";
/// And this one: networks of scopes that are not there.
constexpr const char* kScopes = "/scopes";
/// Of what a server asks for, that much counts.
constexpr std::chrono::seconds kLongestRetryAfter{120};

std::string PortOf(const vif::PodVif& vif) { return vif::Common(vif.vif).id.value_or(""); }

bool IsActiveVif(const vif::PodVif& vif) { return vif::Common(vif.vif).active.value_or(false); }

template <typename Ports>
auto FindById(Ports& ports, const std::string& id) {
  return std::find_if(ports.begin(), ports.end(),
                      [&](const HeldPort& port) { return port.id == id; });
}

template <typename Ports>
auto FindByIfname(Ports& ports, const std::string& ifname) {
  return std::find_if(ports.begin(), ports.end(),
                      [&](const HeldPort& port) { return port.ifname == ifname; });
}

bool AllActive(const std::vector<HeldPort>& ports) {
  return std::all_of(ports.begin(), ports.end(), [](const HeldPort& port) { return port.active; });
}

}  // namespace

NeutronBackend::NeutronBackend(Parts parts)
    : hooks_(std::move(parts.hooks)),
      times_(parts.times),
      planner_(parts.api, std::move(parts.defaults), PoolHooksOf()),
      poll_(parts.api, times_.pace, [this](const auto& ids) { OnActive(ids); }),
      filler_(MakeFiller()) {
  threads_.reserve(parts.workers);
  if (times_.search.count() > 0) queue_.AddAfter(kLatePorts, times_.search);
  queue_.AddAfter(kAllPorts, times_.look_at_waiting);
  for (size_t i = 0; i < parts.workers; ++i) threads_.emplace_back([this] { Work(); });
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

std::optional<std::string> NeutronBackend::WhyNotListed() const {
  if (planner_.has_tags()) return std::nullopt;
  return "[neutron_defaults] resource_tags names no tags";
}

bool NeutronBackend::IsHeld(const std::string& port_id) const {
  const MutexLock lock(mutex_);
  return owners_.contains(port_id);
}

NeutronBackend::~NeutronBackend() { queue_.ShutDown(); }

NeutronBackend::Holder& NeutronBackend::Open(const Owner& owner) {
  const auto [entry, is_new] = holders_.try_emplace(owner.id);
  Holder& holder = entry->second;
  if (is_new || holder.life == Life::kReleased) {
    holder = Holder();
    holder.must_search = IsYoung();
  }
  if (!owner.name.empty() || is_new) holder.owner = owner;
  return holder;
}

std::optional<std::vector<vif::PodVif>> NeutronBackend::VifsFor(
    const Holder& holder, const std::vector<InterfaceRequest>& interfaces) {
  std::vector<vif::PodVif> vifs;
  for (const InterfaceRequest& interface : interfaces) {
    const auto held = FindByIfname(holder.ports, interface.ifname);
    if (held == holder.ports.end() || !held->vif) return std::nullopt;
    vifs.push_back({.ifname = held->ifname, .is_default = interface.is_default, .vif = *held->vif});
  }
  const auto first =
      std::find_if(vifs.begin(), vifs.end(), [](const vif::PodVif& vif) { return vif.is_default; });
  if (first != vifs.end()) std::rotate(vifs.begin(), first, first + 1);
  return vifs;
}

std::optional<std::vector<vif::PodVif>> NeutronBackend::Reserve(const PlanRequest& request) {
  // All plans that are written have been adopted.
  if (filler_) filler_->Begin();
  const MutexLock lock(mutex_);
  Holder& holder = Open(request.owner);
  if (holder.life == Life::kReleasing) return std::nullopt;
  if (auto vifs = VifsFor(holder, request.interfaces)) return vifs;
  const auto now = Clock::now();
  if (holder.failure && holder.refused == request.interfaces && now < holder.failure->until) {
    throw BackendError(holder.failure->kind, holder.failure->text,
                       std::chrono::ceil<milliseconds>(holder.failure->until - now));
  }
  holder.scope = request.scope;
  holder.node_addresses = request.node_addresses;
  Want(holder, request.interfaces);
  return std::nullopt;
}

void NeutronBackend::Want(Holder& holder, const std::vector<InterfaceRequest>& interfaces) {
  holder.failure.reset();
  if (holder.wanted == interfaces) return;
  holder.wanted = interfaces;
  queue_.Add(holder.owner.id);
}

bool NeutronBackend::Owns(const Owner& /*owner*/, const vif::PodVif& vif) const {
  return planner_.Makes(vif.vif);
}

void NeutronBackend::Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  const MutexLock lock(mutex_);
  std::optional<std::string> conflict;
  for (const vif::PodVif& vif : vifs) {
    if (owner.id.empty() || !Owns(owner, vif)) continue;
    Holder& holder = Open(owner);
    if (holder.life != Life::kHeld || Take(holder, vif) || conflict) continue;
    const auto other = holders_.find(owners_[PortOf(vif)]);
    const bool same_scope = other != holders_.end() && other->second.owner.scope == owner.scope;
    conflict = "Neutron's port " + PortOf(vif) + " is " +
               (same_scope ? owner.scope + "/" + other->second.owner.name : "another pod") + "'s";
  }
  if (conflict) throw BackendError(Kind::kRefused, *conflict);
}

bool NeutronBackend::Take(Holder& holder, const vif::PodVif& vif) {
  const std::string id = PortOf(vif);
  // Who reads the plan has not replaced it yet.
  if (holder.lost.contains(id) && !IsActiveVif(vif)) return true;
  const auto [owner, is_new] = owners_.try_emplace(id, holder.owner.id);
  if (owner->second != holder.owner.id) return false;
  auto held = FindById(holder.ports, id);
  if (held == holder.ports.end()) {
    // What was made for this interface and never written is found, and deleted.
    const auto former = FindByIfname(holder.ports, vif.ifname);
    if (former != holder.ports.end()) {
      SearchAfter(holder, {});
      Disown(holder, former->id);
      holder.ports.erase(former);
    }
    holder.ports.push_back({.id = id, .ifname = vif.ifname, .is_default = vif.is_default});
    held = holder.ports.end() - 1;
  }
  held->written = true;
  held->active = held->active || IsActiveVif(vif);
  if (held->active && IsActiveVif(vif)) {
    held->vif.reset();
  } else if (!held->vif) {
    held->vif = vif.vif;
  }
  return true;
}

bool NeutronBackend::Await(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  const MutexLock lock(mutex_);
  const auto holder = holders_.find(owner.id);
  if (holder == holders_.end()) return false;
  bool all = true;
  for (const vif::PodVif& vif : vifs) {
    const auto held = FindById(holder->second.ports, PortOf(vif));
    if (held == holder->second.ports.end()) return false;
    if (held->active) continue;
    all = false;
    poll_.Add(held->id);
  }
  if (!all) queue_.AddAfter(kWaitingPorts, times_.look_at_waiting);
  return all;
}

std::optional<std::string> NeutronBackend::FindLost(const Owner& owner) const {
  const MutexLock lock(mutex_);
  const auto holder = holders_.find(owner.id);
  if (holder == holders_.end()) return std::nullopt;
  std::string lost;
  for (const HeldPort& port : holder->second.ports) {
    if (port.gone) lost += (lost.empty() ? "" : ", ") + port.ifname + "'s port " + port.id;
  }
  if (lost.empty()) return std::nullopt;
  return "Neutron has no more " + lost +
         ", which somebody has deleted there; what is plugged gets " +
         "no packets, and a pod that is made anew gets another port";
}

size_t NeutronBackend::lost() const {
  const MutexLock lock(mutex_);
  size_t count = 0;
  for (const auto& [id, holder] : holders_) {
    count += static_cast<size_t>(std::count_if(holder.ports.begin(), holder.ports.end(),
                                               [](const HeldPort& port) { return port.gone; }));
  }
  return count;
}

void NeutronBackend::OnActive(const std::vector<std::string>& ids) {
  std::vector<Owner> ready;
  {
    const MutexLock lock(mutex_);
    for (const std::string& id : ids) {
      const auto owner = owners_.find(id);
      const auto entry = owner == owners_.end() ? holders_.end() : holders_.find(owner->second);
      if (entry == holders_.end()) continue;
      Holder& holder = entry->second;
      const auto held = FindById(holder.ports, id);
      if (held != holder.ports.end()) held->active = true;
      if (AllActive(holder.ports)) ready.push_back(holder.owner);
    }
  }
  for (const Owner& owner : ready) hooks_.wake(owner);
}

bool NeutronBackend::Release(const std::string& owner_id) {
  // Of nobody all ports would be found.
  if (owner_id.empty()) return true;
  const MutexLock lock(mutex_);
  const auto entry = holders_.find(owner_id);
  if (entry == holders_.end() && !IsYoung()) return true;
  Holder& holder = entry == holders_.end() ? Open({.id = owner_id}) : entry->second;
  if (holder.life == Life::kReleased) {
    holders_.erase(owner_id);
    return true;
  }
  if (holder.life == Life::kReleasing) return false;
  for (const HeldPort& port : holder.ports) poll_.Remove(port.id);
  holder.life = Life::kReleasing;
  queue_.Add(owner_id);
  return false;
}

void NeutronBackend::SweepScopes() {
  if (planner_.has_scope_networks() && hooks_.is_scope) queue_.Add(kScopes);
}

std::vector<Owner> NeutronBackend::Inventory() const { return planner_.Owners(); }

void NeutronBackend::Work() {
  while (const auto item = queue_.Get()) {
    try {
      Round(item->key);
    } catch (const std::exception& e) {
      Log(LogLevel::kError, "a round failed; it will be tried again",
          {{"owner", item->key}, {"error", e.what()}});
      queue_.AddRateLimited(item->key);
    }
    queue_.Done(item->key);
  }
}

void NeutronBackend::Round(const std::string& id) {
  if (!hooks_.may_write()) {
    queue_.AddAfter(id, kMayWriteAgain);
    return;
  }
  if (id == kLatePorts) return FindLatePorts();
  if (id == kScopes && !planner_.SweepScopes(hooks_.is_scope)) return queue_.AddRateLimited(id);
  if (id == kScopes) return;
  if (id == kWaitingPorts) return LookFor(poll_.ids());
  if (id == kAllPorts) {
    const std::vector<std::string> ids = WrittenPorts();
    LookFor(ids);
    return queue_.AddAfter(kAllPorts, ids.empty() ? times_.look_at_waiting : times_.look);
  }
  PortWork work;
  const Act act = Begin(id, work);
  if (act == Act::kNothing) return;
  Do(act, work);
  Finish(act, work);
}

NeutronBackend::Act NeutronBackend::Begin(const std::string& id, PortWork& work) {
  const MutexLock lock(mutex_);
  const auto now = Clock::now();
  if (now < throttled_until_) {
    queue_.AddAfter(id, throttled_until_ - now);
    return Act::kNothing;
  }
  const auto entry = holders_.find(id);
  if (entry == holders_.end()) return Act::kNothing;
  Holder& holder = entry->second;
  work = {.owner = holder.owner,
          .scope = holder.scope,
          .node_addresses = holder.node_addresses,
          .interfaces = holder.wanted,
          .ports = holder.ports,
          .must_search = holder.must_search};
  if (holder.life == Life::kReleasing) return Act::kRelease;
  if (holder.life == Life::kReleased) return Act::kNothing;
  const bool has_doubts = std::any_of(holder.ports.begin(), holder.ports.end(),
                                      [](const HeldPort& port) { return port.doubted; });
  if (has_doubts) return Act::kVerify;
  if (!holder.wanted.empty()) return Act::kPlan;
  if (!holder.search_at) return Act::kNothing;
  if (now >= *holder.search_at) return Act::kSearch;
  queue_.AddAfter(id, *holder.search_at - now);
  return Act::kNothing;
}

void NeutronBackend::Do(Act act, PortWork& work) {
  switch (act) {
    case Act::kPlan:
      return planner_.Plan(work);
    case Act::kSearch:
      return planner_.Search(work);
    case Act::kVerify:
      return planner_.Verify(work);
    case Act::kRelease:
      return planner_.Release(work);
    case Act::kNothing:
      return;
  }
}

void NeutronBackend::Finish(Act act, PortWork& work) {
  Owner owner;
  {
    const MutexLock lock(mutex_);
    Holder& holder = holders_.at(work.owner.id);
    holder.must_search = work.must_search;
    if (act == Act::kRelease) {
      FinishRelease(holder, work);
    } else if (act == Act::kVerify) {
      FinishVerify(holder, work);
    } else {
      Merge(holder, work.ports);
      if (act == Act::kPlan) FinishPlan(holder, work);
      if (act == Act::kSearch) FinishSearch(holder, work);
    }
    owner = holder.owner;
  }
  hooks_.wake(owner);
}

void NeutronBackend::FinishPlan(Holder& holder, PortWork& work) {
  holder.uncertain = holder.uncertain || work.uncertain;
  if (holder.wanted == work.interfaces) holder.wanted.clear();
  if (work.error) {
    holder.refused = work.interfaces;
    const auto delay = DelayOf(holder, *work.error);
    holder.failure = Failure{work.error->kind(), work.error->what(), Clock::now() + delay};
    return;
  }
  holder.backoff.reset();
  if (holder.uncertain) SearchAfter(holder, times_.search);
  holder.uncertain = false;
}

void NeutronBackend::FinishSearch(Holder& holder, PortWork& work) {
  holder.search_at.reset();
  if (work.error) SearchAfter(holder, DelayOf(holder, *work.error));
}

void NeutronBackend::FinishVerify(Holder& holder, PortWork& work) {
  for (const HeldPort& seen : work.ports) {
    const auto held = FindById(holder.ports, seen.id);
    if (!seen.doubted || held == holder.ports.end()) continue;
    held->doubted = false;
    if (seen.gone) Lose(holder, seen.id);
  }
  // What was wanted meanwhile is next.
  if (!holder.wanted.empty()) queue_.Add(holder.owner.id);
}

void NeutronBackend::Lose(Holder& holder, const std::string& port) {
  poll_.Remove(port);
  const auto held = FindById(holder.ports, port);
  if (held->gone) return;
  held->gone = held->written && !held->vif;
  Log(LogLevel::kWarning, held->gone ? "port gone: its pod has no network" : "port gone: made anew",
      {{"pod", holder.owner.scope + "/" + holder.owner.name}, {"port", port}});
  if (held->gone) return;
  holder.lost.insert(port);
  Disown(holder, port);
  holder.ports.erase(held);
}

std::vector<std::string> NeutronBackend::WrittenPorts() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> ids;
  for (const auto& [id, holder] : holders_) {
    for (const HeldPort& port : holder.ports) {
      if (port.written && holder.life == Life::kHeld) ids.push_back(port.id);
    }
  }
  return ids;
}

void NeutronBackend::LookFor(const std::vector<std::string>& ids) {
  if (ids.empty()) return;
  const std::vector<std::string> missing = planner_.Missing(ids);
  const MutexLock lock(mutex_);
  for (const std::string& id : missing) {
    const auto owner = owners_.find(id);
    const auto entry = owner == owners_.end() ? holders_.end() : holders_.find(owner->second);
    if (entry == holders_.end() || entry->second.life != Life::kHeld) continue;
    const auto held = FindById(entry->second.ports, id);
    if (held == entry->second.ports.end()) continue;
    held->doubted = true;
    queue_.Add(entry->first);
  }
  if (poll_.waiting() > 0) queue_.AddAfter(kWaitingPorts, times_.look_at_waiting);
}

void NeutronBackend::FinishRelease(Holder& holder, PortWork& work) {
  if (work.error) {
    Log(LogLevel::kWarning, "ports not deleted; it will be tried again",
        {{"pod", holder.owner.scope + "/" + holder.owner.name}, {"error", work.error->what()}});
    queue_.AddAfter(holder.owner.id, DelayOf(holder, *work.error));
    return;
  }
  for (const HeldPort& port : holder.ports) Disown(holder, port.id);
  holder.ports.clear();
  holder.life = Life::kReleased;
}

void NeutronBackend::SearchAfter(Holder& holder, Clock::duration delay) {
  holder.search_at = Clock::now() + delay;
  queue_.AddAfter(holder.owner.id, delay);
}

void NeutronBackend::FindLatePorts() {
  const std::vector<ListedPort> ports = planner_.ListOwned();
  const MutexLock lock(mutex_);
  for (const ListedPort& port : ports) {
    const auto holder = holders_.find(port.owner_id);
    if (holder == holders_.end() || holder->second.life != Life::kHeld) continue;
    if (FindById(holder->second.ports, port.id) == holder->second.ports.end())
      SearchAfter(holder->second, {});
  }
}

void NeutronBackend::Disown(const Holder& holder, const std::string& port) {
  const auto owner = owners_.find(port);
  if (owner != owners_.end() && owner->second == holder.owner.id) owners_.erase(owner);
}

void NeutronBackend::Merge(Holder& holder, const std::vector<HeldPort>& ports) {
  std::erase_if(holder.ports, [&](const HeldPort& held) KURYR_TSA(requires_capability(mutex_)) {
    const bool stays = held.written || FindById(ports, held.id) != ports.end();
    if (!stays) Disown(holder, held.id);
    return !stays;
  });
  for (const HeldPort& port : ports) {
    const auto held = FindById(holder.ports, port.id);
    if (held != holder.ports.end()) {
      held->known = port.known;
      held->is_default = port.is_default;
      held->active = held->active || port.active;
      if (port.vif) held->vif = port.vif;
    } else if (FindByIfname(holder.ports, port.ifname) == holder.ports.end()) {
      holder.ports.push_back(port);
      owners_.insert_or_assign(port.id, holder.owner.id);
    } else {
      SearchAfter(holder, {});
    }
  }
}

NeutronBackend::Clock::duration NeutronBackend::DelayOf(Holder& holder, const BackendError& error) {
  if (!holder.backoff)
    holder.backoff = std::make_unique<Backoff>(times_.retry_least, times_.retry_most);
  milliseconds delay = holder.backoff->Next();
  if (const auto asked = error.retry_after()) {
    const auto rest = std::min<milliseconds>(*asked, kLongestRetryAfter);
    throttled_until_ = Clock::now() + rest;
    planner_.pool_means().ready.Rest(rest);
    delay = std::max(delay, rest);
  }
  return delay;
}

}  // namespace kuryr::controller::neutron
