#include "controller/pod_store.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "controller/network_selection.h"

namespace kuryr::controller {
namespace {

/// What a pod can wish for: 16 on each interface. Who may write an annotation could take a pool.
constexpr size_t kMostPlanned = 16 * (kMostNetworks + 1);

size_t CountAddresses(const std::vector<vif::PodVif>& vifs) {
  size_t count = 0;
  for (const vif::PodVif& vif : vifs) {
    const vif::VifBase& common = vif::Common(vif.vif);
    if (!common.network.has_value() || !common.network->subnets.has_value()) continue;
    for (const vif::Subnet& subnet : *common.network->subnets)
      count += vif::FixedIpsOf(common, subnet).size();
  }
  return count;
}

/// The UIDs of the pods that something under this key belongs to.
std::set<std::string> OwnersOf(const PodStore::Known& known) {
  std::set<std::string> owners;
  if (known.pod) owners.insert(known.pod->uid);
  if (known.port && known.port->plan.present) owners.insert(known.port->pod_uid);
  return owners;
}

bool Waits(const PodFacts& pod) { return NeedsPlan(pod) && !pod.plan.active; }

/// The pod, whose VIFs they are.
Owner OwnerOf(const PortFacts& port, const std::string& key) {
  const size_t slash = key.find('/');
  return {port.pod_uid, key.substr(0, slash), key.substr(slash + 1), port.node};
}

bool IsAt(const PodStore::Known& known, const std::string& uid, const std::string& version) {
  return known.pod && known.pod->uid == uid && known.pod->version == version;
}

/// Since when the pod waits for a plan that is active.
std::chrono::steady_clock::time_point SeenSince(const PodFacts* before, const PodFacts& now) {
  const bool waited = before != nullptr && before->uid == now.uid && Waits(*before);
  return waited ? before->seen : std::chrono::steady_clock::now();
}

bool Has(const std::vector<IpAddress>& addresses, const IpAddress& address) {
  return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

/// Of earlier plans, and what the node tells of, without those of the plan that stands. A pod that
/// runs may have lost its KuryrPort.
std::vector<IpAddress> BesidePlan(const PodStore::Known& known) {
  const PlanState& plan = PlanOf(known);
  const bool lost = !plan.present && known.pod->has_finalizer && NeedsPlan(*known.pod);
  if (!plan.ours && !lost) return {};
  std::vector<IpAddress> beside = plan.former;
  const std::vector<IpAddress> planned = PlannedAddresses(plan.kept.vifs());
  for (const IpAddress& address : known.pod->addresses_there) {
    if (!Has(planned, address) && !Has(beside, address)) beside.push_back(address);
  }
  return beside;
}

/// As Backend::Adopt takes them.
vif::PodVif WithoutInterface(const std::vector<IpAddress>& addresses) {
  std::vector<vif::FixedIp> ips;
  ips.reserve(addresses.size());
  for (const IpAddress& address : addresses) ips.push_back({.address = address});
  vif::Subnet subnet;
  subnet.ips = vif::FixedIpList{.objects = std::move(ips)};
  vif::VifBridge vif;
  vif.network.emplace();
  vif.network->subnets = vif::SubnetList{.objects = std::vector<vif::Subnet>{std::move(subnet)}};
  return {.vif = std::move(vif)};
}

std::shared_ptr<PortFacts> ReadPort(const watcher::WatchEvent& event) {
  auto facts = std::make_shared<PortFacts>(PortFactsOf(event));
  facts->plan = Read(PlanOn(event));
  return facts;
}

bool AreActive(const std::vector<vif::PodVif>& vifs) {
  return std::all_of(vifs.begin(), vifs.end(), [](const vif::PodVif& vif) {
    return vif::Common(vif.vif).active.value_or(false);
  });
}

}  // namespace

bool NeedsPlan(const PodFacts& pod) {
  return !pod.host_network && !pod.node.empty() && !pod.completed && !pod.deleted;
}

std::vector<IpAddress> PlannedAddresses(const std::vector<vif::PodVif>& vifs) {
  std::vector<IpAddress> addresses;
  for (const vif::PodVif& vif : vifs) {
    for (const IpNetwork& address : vif::AddressesOf(vif::Common(vif.vif)))
      addresses.push_back(address.address);
  }
  return addresses;
}

PlanState Read(const Plan& plan) {
  PlanState state{.present = !plan.empty(), .problem = plan.error, .former = plan.former};
  if (plan.vifs.empty()) return state;
  state.active = AreActive(plan.vifs);
  const size_t addresses = CountAddresses(plan.vifs);
  if (addresses > kMostPlanned) {
    state.problem = "names " + std::to_string(addresses) + " addresses; at most " +
                    std::to_string(kMostPlanned) + " are taken from the pools";
  } else {
    state.kept = KeptPlan(plan.vifs);
  }
  return state;
}

void Judge(Backend& backend, const Owner& owner, PlanState& state) {
  if (state.kept.empty()) return;
  const std::vector<vif::PodVif> vifs = state.kept.vifs();
  state.ours = std::all_of(vifs.begin(), vifs.end(),
                           [&](const vif::PodVif& vif) { return backend.Owns(owner, vif); });
  state.problem.clear();
  try {
    backend.Adopt(owner, vifs);
  } catch (const BackendError& e) {
    state.problem = e.what();
  }
}

PlanState Adopt(Backend& backend, const Owner& owner, const Plan& plan) {
  PlanState state = Read(plan);
  Judge(backend, owner, state);
  return state;
}

const PlanState& PlanOf(const PodStore::Known& known) {
  const bool beside = known.port && known.port->pod_uid == known.pod->uid;
  return beside && known.port->plan.present ? known.port->plan : known.pod->plan;
}

bool IsOthers(const PodStore::Known& known) {
  return (known.port && !known.port->ours) || (known.pod->plan.present && !known.pod->plan.ours);
}

bool HasOurs(const PodStore::Known& known) {
  if (known.pod->plan.ours) return true;
  return known.port ? known.port->ours : known.pod->has_finalizer;
}

bool MayYield(const PodStore::Known& known) {
  const PlanState& plan = PlanOf(known);
  return NeedsPlan(*known.pod) && !IsOthers(known) && plan.ours && !known.pod->started &&
         plan.former.size() + PlannedAddresses(plan.kept.vifs()).size() <= kMostFormer;
}

std::string MismatchOf(const PodStore::Known& known) {
  const PlanState& plan = PlanOf(known);
  if (!plan.ours || plan.former.empty()) return "";
  const std::vector<IpAddress> planned = PlannedAddresses(plan.kept.vifs());
  for (const IpAddress& address : known.pod->addresses_there) {
    if (Has(planned, address) || !Has(plan.former, address)) continue;
    return "the pod has address " + address.ToString() +
           ", which it was to have until its plan got another one: delete the pod";
  }
  return "";
}

std::vector<std::pair<watcher::KeyFn, std::string>> PodStore::Consumes() const {
  return {{watcher::ObjectKind, "Pod"}, {watcher::ObjectKind, "KuryrPort"}};
}

/// Every plan goes before what pods may have beside theirs.
void PodStore::StartTelling(Backend& backend) {
  const MutexLock lock(mutex_);
  backend_ = &backend;
  for (auto& [key, known] : known_) {
    if (known.pod) {
      const auto pod = std::make_shared<PodFacts>(*known.pod);
      Tell(*pod);
      known.pod = pod;
    }
    if (known.port) {
      const auto port = std::make_shared<PortFacts>(*known.port);
      Tell(key, *port);
      known.port = port;
    }
    wake_(key);
  }
  for (const auto& [key, known] : known_) KeepBeside(known);
}

void PodStore::Tell(PodFacts& pod) {
  if (backend_ != nullptr) Judge(*backend_, pod.owner(), pod.plan);
}

void PodStore::Tell(const std::string& key, PortFacts& port) {
  if (backend_ != nullptr) Judge(*backend_, OwnerOf(port, key), port.plan);
}

void PodStore::KeepBeside(const Known& known) {
  if (backend_ == nullptr || !known.pod) return;
  const std::vector<IpAddress> beside = BesidePlan(known);
  if (!beside.empty()) backend_->Adopt(known.pod->owner(), {WithoutInterface(beside)});
}

/// What is gone is nothing to the next backend, which has never heard of it.
void PodStore::StopTelling() {
  const MutexLock lock(mutex_);
  backend_ = nullptr;
  for (auto& [key, known] : known_) known.gone.clear();
  std::erase_if(known_, [](const auto& entry) { return !entry.second.pod && !entry.second.port; });
}

void PodStore::Handle(const watcher::WatchEvent& event) {
  const std::string key = KeyOf(event.name_space, event.name);
  if (event.kind != "Pod") {
    HandlePort(event);
  } else if (event.type != watcher::EventType::kDeleted &&
             IsAt(Find(key), event.uid, event.resource_version)) {
    return;  // Written here: its round went on with the answer.
  } else {
    HandlePod(event);
  }
  wake_(key);
}

void PodStore::LearnPod(const watcher::WatchEvent& pod, const std::string& base, const Plan& plan) {
  const std::shared_ptr<PodFacts> facts = ReadPod(pod, plan);
  Update(KeyOf(pod.name_space, pod.name), [&](Known& known) KURYR_TSA(requires_capability(mutex_)) {
    if (!IsAt(known, pod.uid, base)) return;
    facts->seen = known.pod->seen;
    Tell(*facts);
    known.pod = facts;
  });
}

void PodStore::LearnPort(nlohmann::json kuryrport) {
  const watcher::WatchEvent event =
      watcher::MakeEvent(watcher::EventType::kAdded, std::move(kuryrport));
  const std::shared_ptr<PortFacts> facts = ReadPort(event);
  const std::string key = KeyOf(event.name_space, event.name);
  Update(key, [&](Known& known) KURYR_TSA(requires_capability(mutex_)) {
    if (known.port || !known.pod || known.pod->uid != facts->pod_uid) return;
    Tell(key, *facts);
    known.port = facts;
  });
}

template <typename Change>
void PodStore::Update(const std::string& key, const Change& change) {
  const MutexLock lock(mutex_);
  Known& known = known_[key];
  const std::set<std::string> before = OwnersOf(known);
  change(known);
  const std::set<std::string> after = OwnersOf(known);
  for (const std::string& uid : after) std::erase(known.gone, uid);
  KeepBeside(known);
  if (backend_ != nullptr) {
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                        std::back_inserter(known.gone));
  }
  if (!known.pod && !known.port && known.gone.empty()) known_.erase(key);
}

std::shared_ptr<PodFacts> PodStore::ReadPod(const watcher::WatchEvent& event,
                                            const Plan& plan) const {
  auto facts = std::make_shared<PodFacts>(PodFactsOf(event, label_keys_));
  facts->plan = Read(plan);
  return facts;
}

void PodStore::HandlePod(const watcher::WatchEvent& event) {
  std::shared_ptr<PodFacts> facts;
  if (event.type != watcher::EventType::kDeleted) facts = ReadPod(event, PlanOn(event));
  Update(KeyOf(event.name_space, event.name),
         [&](Known& known) KURYR_TSA(requires_capability(mutex_)) {
           if (facts) {
             facts->seen = SeenSince(known.pod.get(), *facts);
             Tell(*facts);
           }
           known.pod = std::move(facts);
         });
}

void PodStore::HandlePort(const watcher::WatchEvent& event) {
  std::shared_ptr<PortFacts> facts;
  if (event.type != watcher::EventType::kDeleted) facts = ReadPort(event);
  const std::string key = KeyOf(event.name_space, event.name);
  Update(key, [&](Known& known) KURYR_TSA(requires_capability(mutex_)) {
    if (facts) Tell(key, *facts);
    known.port = std::move(facts);
  });
}

PodStore::Known PodStore::Find(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto known = known_.find(key);
  return known == known_.end() ? Known() : known->second;
}

void PodStore::ForgetGone(const std::string& key, const std::string& uid) {
  const MutexLock lock(mutex_);
  const auto known = known_.find(key);
  if (known == known_.end()) return;
  std::erase(known->second.gone, uid);
  if (!known->second.pod && !known->second.port && known->second.gone.empty()) known_.erase(known);
}

size_t PodStore::size() const {
  const MutexLock lock(mutex_);
  return known_.size();
}

PodStore::Counts PodStore::Count() const {
  Counts counts;
  const MutexLock lock(mutex_);
  for (const auto& [key, known] : known_) {
    if (!known.pod) continue;
    const bool planned = known.pod->plan.present || (known.port && known.port->plan.present);
    if (planned) {
      ++counts.planned;
    } else if (NeedsPlan(*known.pod)) {
      ++counts.waiting;
    }
  }
  return counts;
}

}  // namespace kuryr::controller
