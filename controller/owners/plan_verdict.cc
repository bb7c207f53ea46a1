#include "controller/owners/plan_verdict.h"

#include <algorithm>
#include <map>
#include <utility>

#include "controller/plan/network_selection.h"

namespace kuryr::controller {
namespace {

/// The most addresses a pod can wish for, 16 an interface: an annotation must not take a whole
/// pool.
constexpr size_t kMostPlanned = 16 * (kMostNetworks + 1);

bool Has(const std::vector<IpAddress>& addresses, const IpAddress& address) {
  return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

bool IsOf(const PortFacts& port, const PodFacts& pod) { return port.pod_uid == pod.uid; }

/// Why Reserve would never give one of the VIFs; empty: it could.
std::string WhyRefused(Backend& backend, const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  const auto* keeper = backend.facets().addresses;
  if (keeper == nullptr) return "";
  for (const vif::PodVif& vif : vifs) {
    if (const auto why = keeper->WhyNeverGiven(owner, vif)) return *why;
  }
  return "";
}

/// Judges a plan, and tells the backend if it is the backend's own. A plan that Reserve would never
/// give is not told: its author would take others' addresses.
void JudgeOurs(Backend& backend, const Owner& owner, PlanState& state) {
  if (state.kept.empty()) return;
  const std::vector<vif::PodVif> vifs = state.kept.vifs();
  state.ours = OwnsAll(backend, owner, vifs);
  if (!state.ours) return;
  state.problem.clear();
  state.refused = WhyRefused(backend, owner, vifs);
  if (!state.refused.empty()) return;
  try {
    backend.Adopt(owner, vifs);
  } catch (const PlanError& e) {
    state.problem = e.what();
  }
}

/// Whether another producer's plan is there and counts.
bool IsHeeded(const PlanState& plan) { return plan.present && !plan.ours && !plan.ignored; }

/// The VIFs that other producers planned. A KuryrPort counts until its producer deletes it. The
/// pod's user may keep an annotation for ever: it counts while a node may have something of it.
std::vector<vif::PodVif> HeededVifs(const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  std::vector<vif::PodVif> vifs;
  if (pod.node.empty() || pod.host_network) return vifs;
  if (known.port && IsOf(*known.port, pod) && IsHeeded(known.port->plan))
    vifs = known.port->plan.kept.vifs();
  if (!IsHeeded(pod.plan) || AwaitedBy(pod) == Awaited::kNothing) return vifs;
  for (vif::PodVif& vif : pod.plan.kept.vifs()) vifs.push_back(std::move(vif));
  return vifs;
}

size_t CountInterfaces(const PodFacts& pod) {
  try {
    return 1 + ParseNetworkSelections(pod.networks, pod.name_space).size();
  } catch (const PlanError&) {
    return 1;
  }
}

/// Why another producer's addresses are too many; empty: they are not. At most one of each family
/// and interface is kept, since a pod's user may write such a plan.
std::string WhyTooMany(const PodFacts& pod, const std::vector<vif::PodVif>& vifs) {
  std::map<IpFamily, size_t> counts;
  for (const IpAddress& address : PlannedAddresses(vifs)) ++counts[address.family];
  const size_t interfaces = CountInterfaces(pod);
  for (const auto& [family, count] : counts) {
    if (count <= interfaces) continue;
    return "names " + std::to_string(count) +
           " addresses; none is kept from other pods, as the pod asks for " +
           std::to_string(interfaces) + (interfaces == 1 ? " interface" : " interfaces");
  }
  return "";
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
  state.active = std::all_of(plan.vifs.begin(), plan.vifs.end(), vif::IsActive);
  const size_t addresses = PlannedAddresses(plan.vifs).size();
  if (addresses > kMostPlanned) {
    state.problem = "names " + std::to_string(addresses) + " addresses; at most " +
                    std::to_string(kMostPlanned) + " are taken from the pools";
  } else {
    state.kept = KeptPlan(plan.vifs);
  }
  return state;
}

PodFacts ReadPod(const watcher::WatchEvent& pod, const Plan& plan,
                 const std::set<std::string>& label_keys) {
  PodFacts facts = PodFactsOf(pod, label_keys);
  facts.plan = Read(plan);
  return facts;
}

PortFacts ReadPort(const watcher::WatchEvent& kuryrport) {
  PortFacts facts = PortFactsOf(kuryrport);
  facts.plan = Read(PlanOn(kuryrport));
  return facts;
}

bool OwnsAll(const Backend& backend, const Owner& owner, const std::vector<vif::PodVif>& vifs) {
  return std::all_of(vifs.begin(), vifs.end(),
                     [&](const vif::PodVif& vif) { return backend.Owns(owner, vif); });
}

void Judge(Backend& backend, const PlanPlaces& places, PodFacts& pod) {
  if (places.annotations_are_ours()) JudgeOurs(backend, pod.owner(), pod.plan);
  pod.plan.ignored = pod.plan.present && !pod.plan.ours && !places.heeds_annotations();
}

void JudgePort(Backend& backend, const PlanPlaces& places, KnownPod& known) {
  if (!known.port) return;
  const bool is_its = known.pod && IsOf(*known.port, *known.pod);
  const bool is_ignored = !known.port->ours && !places.heeds_ports();
  if (known.port->plan.ignored == is_ignored && (known.port->judged || !is_its)) return;
  const auto port = std::make_shared<PortFacts>(*known.port);
  port->plan.ignored = is_ignored;
  if (is_its && port->ours) JudgeOurs(backend, known.pod->owner(), port->plan);
  port->judged = is_its;
  known.port = port;
}

void HeedOthers(Backend& backend, KnownPod& known) {
  std::vector<vif::PodVif> vifs = HeededVifs(known);
  known.others_problem.clear();
  if (vifs.empty() && !known.heeds) return;
  known.others_problem = WhyTooMany(*known.pod, vifs);
  if (!known.others_problem.empty()) vifs.clear();
  known.heeds = !vifs.empty();
  auto* keeper = backend.facets().addresses;
  if (keeper == nullptr) return;
  try {
    keeper->Heed(known.pod->owner(), vifs);
  } catch (const PlanError& e) {
    known.others_problem = e.what();
  }
}

AddressKeeper::Beside BesideOf(const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  if (pod.host_network || pod.completed) return {};
  if (plan.present ? !plan.ours : !pod.has_finalizer) return {};
  AddressKeeper::Beside beside{.former = plan.former};
  // The backend does not know the addresses of a plan with a problem.
  const bool is_told = plan.problem.empty() && plan.refused.empty();
  std::vector<IpAddress> told;
  if (is_told && !pod.addresses_there.empty()) told = PlannedAddresses(plan.kept.vifs());
  for (const IpAddress& address : pod.addresses_there) {
    if (!Has(told, address)) beside.there.push_back(address);
  }
  return beside;
}

const PlanState& PlanOf(const KnownPod& known) {
  static const PlanState kNone;
  const PortFacts* port = known.port.get();
  if (port != nullptr && IsOf(*port, *known.pod) && port->plan.present && !port->plan.ignored)
    return port->plan;
  return known.pod->plan.ignored ? kNone : known.pod->plan;
}

bool IsOthers(const KnownPod& known) {
  if (known.port && !known.port->ours && !known.port->plan.ignored) return true;
  return IsHeeded(known.pod->plan);
}

std::string ProblemOf(const KnownPod& known) {
  const PlanState& plan = PlanOf(known);
  if (!plan.refused.empty()) return plan.refused;
  return plan.problem.empty() && IsOthers(known) ? known.others_problem : plan.problem;
}

bool HasOurs(const KnownPod& known) {
  if (known.pod->plan.ours) return true;
  return known.port && !known.port->plan.ignored ? known.port->ours : known.pod->has_finalizer;
}

}  // namespace kuryr::controller
