#include "controller/neutron/neutron_backend.h"

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

std::optional<std::vector<Owner>> NeutronBackend::Rivals(
    const Owner& /*owner*/, const std::vector<vif::PodVif>& /*vifs*/) const {
  return std::nullopt;
}

void NeutronBackend::Keep(const Owner& /*claim*/, const std::vector<IpAddress>& /*addresses*/) {}

bool NeutronBackend::IsActive(const Owner& owner, const std::vector<vif::PodVif>& vifs) {
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
  return all;
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
          .node_addresses = holder.node_addresses,
          .interfaces = holder.wanted,
          .ports = holder.ports,
          .must_search = holder.must_search};
  if (holder.life == Life::kReleasing) return Act::kRelease;
  if (holder.life == Life::kReleased) return Act::kNothing;
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
  const std::vector<ClusterPort> ports = planner_.ListOwned();
  const MutexLock lock(mutex_);
  for (const ClusterPort& port : ports) {
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
