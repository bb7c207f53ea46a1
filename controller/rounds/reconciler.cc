#include "controller/rounds/reconciler.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "controller/owners/lost_plan.h"
#include "controller/owners/plan_verdict.h"
#include "controller/plan/default_route.h"
#include "controller/plan/service_routes.h"
#include "controller/rounds/interface_change.h"
#include "controller/rounds/pod_request.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

using Clock = RoundMetrics::Clock;

/// How long a node is not asked about again for one pod.
constexpr std::chrono::seconds kNodeAgain{10};

/// A node's plan wakes the pods that wait for it; this delay is for those that Askers forgot.
constexpr std::chrono::seconds kNodePlanAgain{60};
/// How long a pod that lost its plan, and may not have its addresses again, is not looked at.
constexpr std::chrono::seconds kConflictAgain{60};

constexpr const char* kAddressConflict = "KuryrAddressConflict";

std::vector<IpAddress> Without(std::vector<IpAddress> all, const std::vector<IpAddress>& these) {
  std::erase_if(all, [&](const IpAddress& address) {
    return std::find(these.begin(), these.end(), address) != these.end();
  });
  return all;
}

/// Whether the plan, which is not active, names these VIFs: one that was lost has been replaced.
bool SaysPorts(const PlanState& plan, const std::vector<vif::PodVif>& vifs) {
  const std::vector<vif::PodVif> written = plan.kept.vifs();
  return std::all_of(vifs.begin(), vifs.end(), [&](const vif::PodVif& vif) {
    return std::any_of(written.begin(), written.end(), [&](const vif::PodVif& other) {
      return other.ifname == vif.ifname && vif::Common(other.vif).id == vif::Common(vif.vif).id;
    });
  });
}

}  // namespace

void Reconciler::Look(const Key& key) {
  const KnownPod known = pods_.Find(key.object);
  // No address stands on an object when another pod gets it.
  if (!known.pod && known.port && known.port->ours) DeleteOrphan(key, *known.port);
  round_.ReleaseGone(pods_, key, known.gone);
  if (!known.pod) {
    parts_.reporter.Clear(key.object);
    return;
  }
  round_.Try(key, known.pod->owner(), [&] { RoundOf(key, known); });
}

void Reconciler::RoundOf(const Key& key, const KnownPod& known) {
  const auto* const losses = parts_.backend.facets().losses;
  PodOutlook outlook{.stands_here = sink_->Holds(known)};
  if (losses != nullptr) outlook.loss = losses->FindLost(known.pod->owner()).value_or("");
  Decision decision = Decide(known, outlook);
  while (Find(decision.missing, key, known, outlook)) decision = Decide(known, outlook);
  if (decision.missing != Fact::kNone) return;
  switch (decision.act) {
    case Act::kNone:
    case Act::kLeave:
    case Act::kAwaitEnd:
    case Act::kRelease:
      return End(key, known, decision.act);
    case Act::kUnusable:
      return Report(*known.pod, "KuryrPlanUnusable", decision.problem);
    case Act::kTakeBack:
      ClearPlan(known, parts_.writer);
      return parts_.queue.Add(key);  // The rest is the next round's.
    case Act::kRefuse:
      return Report(*known.pod, "KuryrPlanRefused",
                    "its plan is none that a controller would write: " + decision.problem +
                        "; delete the pod");
    case Act::kPlan:
    case Act::kRestore:
    case Act::kReplace:
      return Plan(key, known, decision.act);
    case Act::kYield:
      return Yield(key, known, *outlook.request);
    case Act::kActivate:
    case Act::kConflict:
    case Act::kLost:
    case Act::kKeep:
    case Act::kFree:
    case Act::kChange:
      return Keep(key, known, decision, outlook);
  }
}

bool Reconciler::Find(Fact fact, const Key& key, const KnownPod& known, PodOutlook& outlook) {
  const PodFacts& pod = *known.pod;
  const auto get = [&] { return parts_.view.GetPod(pod.name_space, pod.name); };
  if (fact == Fact::kFinalizer) outlook.put_finalizer = HasPutFinalizer(get());
  if (fact == Fact::kNode) outlook.node_gone = parts_.view.IsNodeGone(pod.node);
  if (fact == Fact::kUnplugged)
    outlook.unplugged =
        parts_.backend.facets().interfaces != nullptr && TellsOfNone(get(), PlanOf(known).former);
  if (fact == Fact::kRivals) outlook.rivals = FindRivals(known);
  if (fact == Fact::kRequest) outlook.request = RequestOf(key, pod);
  return fact == Fact::kRequest ? outlook.request.has_value() : fact != Fact::kNone;
}

std::vector<Rival> Reconciler::FindRivals(const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  const auto* keeper = parts_.backend.facets().addresses;
  // A backend that keeps no addresses tells of another owner by the problem alone.
  if (keeper == nullptr) return std::vector<Rival>(plan.problem.empty() ? 0 : 1);
  std::vector<Rival> rivals;
  for (const Owner& owner : keeper->Rivals(pod.owner(), plan.kept.vifs())) {
    const Key key = Key::Of(owner);
    const KnownPod other = pods_.Find(key.object);
    Rival& rival = rivals.emplace_back();
    if (!other.pod || other.pod->uid != owner.id) continue;
    rival = {.known = other, .stands_here = sink_->Holds(other)};
    if (Yields(rival, pod)) parts_.queue.Add(key);
  }
  return rivals;
}

/// Takes the plan from the object first, then from the backend: until then, a node may read it.
void Reconciler::End(const Key& key, const KnownPod& known, Act act) {
  const PodFacts& pod = *known.pod;
  if (NeedsPlan(pod)) return;  // Another producer's.
  const bool waited = parts_.reporter.Clear(key.object) && !PlanOf(known).present;
  if (act == Act::kRelease) {
    ClearPlan(known, parts_.writer);
    parts_.metrics.CountReleased();
    if (!parts_.backend.Release(pod.uid)) parts_.queue.AddRateLimited(key);
  } else if (act == Act::kAwaitEnd) {
    if (AwaitedBy(pod) == Awaited::kContainers) parts_.queue.AddAfter(key, kNodeAgain);
  } else if (waited) {
    // Pods that wait for its place get it. A plan that it may run with stays until its finalizer
    // goes.
    parts_.backend.Release(pod.uid);
  }
}

void Reconciler::Keep(const Key& key, const KnownPod& known, const Decision& decision,
                      PodOutlook& outlook) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  if (decision.act == Act::kConflict) Report(pod, kAddressConflict, decision.problem);
  // Of a change that another process did not bring to its end.
  if (plan.ours && outlook.stands_here) sink_->Complete(known);
  Decision change = DecideInterfaces(known, outlook);
  while (Find(change.missing, key, known, outlook)) change = DecideInterfaces(known, outlook);
  if (change.missing != Fact::kNone) return;
  if (change.act == Act::kFree) return Free(key, known, *outlook.request);
  if (change.act == Act::kChange) return Change(key, known, *outlook.request);
  if (!plan.active) return Plan(key, known, decision.act);
  if (decision.act == Act::kLost) return Report(pod, kPortLost, decision.problem);
  if (decision.act == Act::kKeep) parts_.reporter.Clear(key.object);
}

void Reconciler::Report(const PodFacts& pod, const char* reason, const std::string& problem) {
  parts_.reporter.Report(pod.owner(), reason, problem, parts_.writer);
}

void Reconciler::Yield(const Key& key, const KnownPod& known, PlanRequest request) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  // A watch may be late, and the node may have told of the pod meanwhile.
  const nlohmann::json now = parts_.view.GetPod(pod.name_space, pod.name);
  if (StringAt(now.at("metadata"), "resourceVersion") != pod.version)
    return parts_.queue.AddRateLimited(key);
  request.anew = true;
  auto vifs = Reserve(request);
  parts_.reporter.Clear(key.object);
  if (!vifs) return;
  AddServiceRoutes(key, pod, *vifs);
  round_.Activate(pod.owner(), *vifs);
  MoveDefaultRoute(*vifs);
  const std::vector<IpAddress> before = PlannedAddresses(plan.kept.vifs());
  const std::vector<IpAddress> after = PlannedAddresses(*vifs);
  const std::vector<IpAddress> lost = Without(before, after);
  if (lost.empty()) return;  // The other pod is gone.
  std::vector<IpAddress> former = plan.former;
  former.insert(former.end(), lost.begin(), lost.end());
  sink_->Replace(known, *vifs, former);
  parts_.metrics.CountReplanned();
  parts_.reporter.Tell(pod.owner(), "KuryrAddressChanged",
                       "another pod has address " + Listed(lost) + ", too: this one gets " +
                           Listed(Without(after, before)) + " instead",
                       parts_.writer);
}

std::optional<std::vector<vif::PodVif>> Reconciler::VifsFor(const Key& key, const PodFacts& pod,
                                                            const PlanRequest& request) {
  auto vifs = Reserve(request);
  if (!vifs) return std::nullopt;
  for (vif::PodVif& vif : *vifs)
    vif::Common(vif.vif).active = parts_.backend.Await(request.owner, {vif});
  AddServiceRoutes(key, pod, *vifs);
  MoveDefaultRoute(*vifs);
  return vifs;
}

void Reconciler::Change(const Key& key, const KnownPod& known, const PlanRequest& request) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  const InterfaceChange change(request, plan.kept.vifs());
  std::vector<IpAddress> former = plan.former;
  former.insert(former.end(), change.released.begin(), change.released.end());
  if (former.size() > kMostFormer) {
    throw PlanError(
        PlanError::Kind::kRefused,
        "node " + pod.node + " has not reported yet that it unplugged " + Listed(plan.former) +
            ", so no more interfaces can be removed; remove fewer at a time, or look at "
            "kuryr-daemon on the node");
  }
  const auto vifs = VifsFor(key, pod, request);
  if (!vifs) return;
  if (!RecordClaims(request, *vifs)) return parts_.queue.AddRateLimited(key);
  sink_->Replace(known, *vifs, former);
  parts_.reporter.Clear(key.object);
  parts_.reporter.Tell(pod.owner(), "KuryrPlanChanged",
                       "its networks have changed: " + change.ToString(), parts_.writer);
}

/// Takes the addresses from the object first, then from the backend: until then, a node may read
/// them.
void Reconciler::Free(const Key& key, const KnownPod& known, PlanRequest request) {
  const PodFacts& pod = *known.pod;
  const InterfaceChange change(request, PlanOf(known).kept.vifs());
  std::erase_if(request.interfaces, [&](const InterfaceRequest& interface) {
    return std::find(change.added.begin(), change.added.end(), interface.ifname) !=
           change.added.end();
  });
  const auto vifs = VifsFor(key, pod, request);
  if (!vifs) return;
  sink_->Replace(known, *vifs, {});
  parts_.backend.facets().interfaces->ReleaseBut(pod.owner(), *vifs);
  parts_.queue.Add(key);  // Interfaces may have waited for it.
}

void Reconciler::Plan(const Key& key, const KnownPod& known, Act act) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  std::optional<PlanRequest> request = RequestOf(key, pod);
  if (!request) return;
  const bool is_lost = act == Act::kRestore;
  auto vifs = is_lost ? ReserveTheSame(key, pod, *request) : Reserve(*request);
  if (!vifs) return;
  const bool is_first = !plan.present || !plan.refused.empty();
  if (is_first && !RecordClaims(*request, *vifs)) {
    parts_.backend.Release(pod.uid);
    parts_.queue.AddRateLimited(key);
    return;
  }
  AddServiceRoutes(key, pod, *vifs);
  const bool active = round_.Activate(pod.owner(), *vifs);
  if (!is_first && !active && SaysPorts(plan, *vifs)) return;
  MoveDefaultRoute(*vifs);
  // A refused plan is replaced as a whole.
  if (!plan.refused.empty() && sink_->Holds(known)) {
    sink_->Replace(known, *vifs, {});
  } else {
    sink_->Write(known, *vifs);
  }
  parts_.reporter.Clear(key.object);
  if (is_lost) {
    parts_.reporter.Tell(
        pod.owner(), "KuryrPlanRestored",
        "its plan was taken away while it runs: it keeps " + Listed(PlannedAddresses(*vifs)),
        parts_.writer);
  }
  if (is_first) parts_.metrics.CountPlanned(Clock::now() - pod.seen);
  if (active) parts_.metrics.CountActive(Clock::now() - pod.seen);
  Log(LogLevel::kDebug, "pod planned",
      {{"pod", key.object}, {"node", pod.node}, {"active", active ? "true" : "false"}});
}

std::optional<std::vector<vif::PodVif>> Reconciler::ReserveTheSame(const Key& key,
                                                                   const PodFacts& pod,
                                                                   PlanRequest& request) {
  AskForTheSame(pod, parts_.view.GetPod(pod.name_space, pod.name), request);
  try {
    return Reserve(request);
  } catch (const PlanError& e) {
    if (e.kind() == PlanError::Kind::kRetry) throw;
    Report(pod, kAddressConflict,
           std::string("its plan was taken away while it runs, and it may not have its addresses "
                       "again: ") +
               e.what() + "; delete the pod");
    parts_.queue.AddAfter(key, kConflictAgain);
    return std::nullopt;
  }
}

std::optional<PlanRequest> Reconciler::RequestOf(const Key& key, const PodFacts& pod) {
  std::optional<Scope> scope = Scope();
  if (parts_.needs.scopes) scope = parts_.namespaces.Find(pod.name_space, key);
  if (!scope) return std::nullopt;
  PlanRequest request =
      PlanRequestOf(pod, NetworksOfNode(key, pod), parts_.attachments, parts_.claims);
  request.scope = std::move(*scope);
  if (parts_.needs.node_addresses) request.node_addresses = parts_.view.NodeAddresses(pod.node);
  return request;
}

std::optional<std::vector<vif::PodVif>> Reconciler::Reserve(const PlanRequest& request) {
  const auto start = Clock::now();
  try {
    auto vifs = parts_.backend.Reserve(request);
    parts_.metrics.CountAsked(Clock::now() - start, false);
    return vifs;
  } catch (const PlanError&) {
    parts_.metrics.CountAsked(Clock::now() - start, true);
    throw;
  }
}

std::vector<vif::PodVif> Reconciler::PlanOfNode(const Key& key, const PodFacts& pod) {
  std::vector<vif::PodVif> vifs = parts_.nodes.PlanOf(pod.node, key);
  if (!vifs.empty()) return vifs;
  throw PlanError(PlanError::Kind::kRetry,
                  "node " + Printable(pod.node) +
                      " has no management port planned yet; if that lasts, its Events say why",
                  kNodePlanAgain);
}

std::vector<IpNetwork> Reconciler::NetworksOfNode(const Key& key, const PodFacts& pod) {
  std::vector<IpNetwork> networks;
  if (parts_.needs.management_networks) {
    for (const vif::PodVif& vif : PlanOfNode(key, pod)) {
      for (const IpNetwork& address : vif::AddressesOf(vif::Common(vif.vif)))
        networks.push_back(address.Masked());
    }
  } else if (parts_.needs.node_networks) {
    networks = parts_.view.NodeNetworks(pod.node);
  }
  return networks;
}

void Reconciler::AddServiceRoutes(const Key& key, const PodFacts& pod,
                                  std::vector<vif::PodVif>& vifs) {
  if (parts_.node_network.enabled && !parts_.needs.services)
    RouteServices(vifs, PlanOfNode(key, pod), parts_.service_cidrs.All());
}

bool Reconciler::RecordClaims(const PlanRequest& request, const std::vector<vif::PodVif>& vifs) {
  for (const vif::PodVif& vif : vifs) {
    const auto interface =
        std::find_if(request.interfaces.begin(), request.interfaces.end(),
                     [&](const InterfaceRequest& asked) { return asked.ifname == vif.ifname; });
    if (interface == request.interfaces.end() ||
        parts_.claims.Record(*interface, request.owner, vif, parts_.writer))
      continue;
    return false;
  }
  return true;
}

void Reconciler::DeleteOrphan(const Key& key, const PortFacts& port) {
  const size_t slash = key.object.find('/');
  const std::string name_space = key.object.substr(0, slash);
  const std::string name = key.object.substr(slash + 1);
  try {
    const nlohmann::json pod = parts_.view.GetPod(name_space, name);
    if (StringAt(pod.at("metadata"), "uid") == port.pod_uid) return;  // Not heard of yet.
  } catch (const watcher::ApiError& e) {
    if (e.code() != watcher::ApiError::kNotFound) throw;
  }
  parts_.writer.DeletePort(name_space, name, port.uid);
}

}  // namespace kuryr::controller
