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

/// Whether another plan may replace this one: wishes and interfaces of the pod stay.
bool MayReplan(const PlanRequest& request, const std::vector<vif::PodVif>& vifs) {
  const auto has = [&](const InterfaceRequest& interface) {
    return !interface.HasWishes() && std::any_of(vifs.begin(), vifs.end(), [&](const auto& vif) {
      return vif.ifname == interface.ifname;
    });
  };
  return request.interfaces.size() == vifs.size() &&
         std::all_of(request.interfaces.begin(), request.interfaces.end(), has);
}

/// The addresses of two plans that only one of them has.
struct Replaced {
  Replaced(const std::vector<IpAddress>& before, const std::vector<IpAddress>& after)
      : from(Without(after, before)), to(Without(before, after)) {}

  std::vector<IpAddress> from;
  std::vector<IpAddress> to;

 private:
  static std::vector<IpAddress> Without(const std::vector<IpAddress>& these,
                                        std::vector<IpAddress> all) {
    std::erase_if(all, [&](const IpAddress& address) {
      return std::find(these.begin(), these.end(), address) != these.end();
    });
    return all;
  }
};

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
  round_.ReleaseGone(pods_, key, known.gone);
  if (!known.pod) {
    parts_.reporter.Clear(key.object);
    if (known.port && known.port->ours) DeleteOrphan(key, *known.port);
    return;
  }
  round_.Try(key, known.pod->owner(), [&] { RoundOf(key, known); });
}

void Reconciler::RoundOf(const Key& key, const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  if (HasLeftFinalizer(known)) ClearPlan(known, parts_.writer);
  if (!NeedsPlan(pod)) {
    const bool waited = parts_.reporter.Clear(key.object) && !plan.present;
    if (HasOurs(known) && IsDone(pod)) return Release(known);
    // Pods that wait for its place get it. A plan that it may run with stays until its finalizer
    // goes.
    if (waited && !HasOurs(known)) parts_.backend.Release(pod.uid);
    return;
  }
  if (IsOthers(known)) {
    const std::string problem = ProblemOf(known);
    if (!problem.empty())
      parts_.reporter.Report(pod.owner(), "KuryrPlanUnusable", problem, parts_.writer);
    return;
  }
  if (!plan.refused.empty()) {
    if (Refuse(known)) Plan(key, known);
    return;
  }
  const std::string problem = plan.present ? Settle(key, known) : std::string();
  if (!problem.empty())
    parts_.reporter.Report(pod.owner(), kAddressConflict, problem, parts_.writer);
  if (plan.present && Change(key, known)) return;
  if (!plan.present || !plan.active)
    Plan(key, known);
  else if (problem.empty())
    ReportLost(key, pod);
}

bool Reconciler::Refuse(const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  if (!pod.started) return true;
  parts_.reporter.Report(pod.owner(), "KuryrPlanRefused",
                         "its plan is none that a controller would write: " +
                             PlanOf(known).refused + "; delete the pod",
                         parts_.writer);
  return false;
}

void Reconciler::ReportLost(const Key& key, const PodFacts& pod) {
  const auto* losses = parts_.backend.facets().losses;
  const auto lost = losses == nullptr ? std::nullopt : losses->FindLost(pod.owner());
  if (lost) {
    parts_.reporter.Report(pod.owner(), kPortLost, *lost, parts_.writer);
  } else {
    parts_.reporter.Clear(key.object);
  }
}

/// Another pod that yields does so in a round of its own.
std::string Reconciler::Settle(const Key& key, const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  const auto* keeper = parts_.backend.facets().addresses;
  if (keeper == nullptr) return plan.problem;
  std::string problem = MismatchOf(known);
  bool yields = false;
  for (const Owner& rival : keeper->Rivals(pod.owner(), plan.kept.vifs())) {
    const Key other_key = Key::Of(rival);
    const KnownPod other = pods_.Find(other_key.object);
    const bool is_pod = other.pod && other.pod->uid == rival.id;
    if (is_pod && GoesBefore(pod, *other.pod) && MayYield(other)) {
      parts_.queue.Add(other_key);
      continue;
    }
    // A plan that is not where this sink writes may be a user's: it never makes a pod yield.
    const bool counts = is_pod && sink_->Holds(other) && GoesBefore(*other.pod, pod);
    yields = yields || (counts && MayYield(known));
    if (problem.empty()) problem = plan.problem;
    if (problem.empty())
      problem = "another pod has this one's, too: " + Listed(PlannedAddresses(plan.kept.vifs()));
  }
  return yields && Replan(key, known) ? "" : problem;
}

bool Reconciler::Replan(const Key& key, const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  std::optional<PlanRequest> request = RequestOf(key, pod);
  if (!request || !sink_->Holds(known) || !MayReplan(*request, plan.kept.vifs())) return false;
  // A watch may be late, and the node may have told of the pod meanwhile.
  const nlohmann::json now = parts_.view.GetPod(pod.name_space, pod.name);
  if (StringAt(now.at("metadata"), "resourceVersion") != pod.version) {
    parts_.queue.AddRateLimited(key);
    return true;
  }
  request->anew = true;
  auto vifs = Reserve(*request);
  if (!vifs) return true;
  AddServiceRoutes(key, pod, *vifs);
  round_.Activate(pod.owner(), *vifs);
  MoveDefaultRoute(*vifs);
  const Replaced replaced(PlannedAddresses(plan.kept.vifs()), PlannedAddresses(*vifs));
  if (replaced.from.empty()) return true;  // The other pod is gone.
  std::vector<IpAddress> former = plan.former;
  former.insert(former.end(), replaced.from.begin(), replaced.from.end());
  sink_->Replace(known, *vifs, former);
  parts_.metrics.CountReplanned();
  parts_.reporter.Tell(pod.owner(), "KuryrAddressChanged",
                       "another pod has address " + Listed(replaced.from) +
                           ", too: this one gets " + Listed(replaced.to) + " instead",
                       parts_.writer);
  return true;
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

bool Reconciler::Change(const Key& key, const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  if (!plan.ours || !sink_->Holds(known)) return false;
  sink_->Tell(known);
  if (!plan.former.empty() && ReleaseRemoved(key, known)) return true;
  const std::vector<vif::PodVif> planned = plan.kept.vifs();
  if (planned.empty() || !MayHaveChanged(pod, planned)) return false;
  std::optional<PlanRequest> request = RequestOf(key, pod);
  if (!request) return false;
  const InterfaceChange change(*request, planned);
  if (change.empty()) return false;
  std::vector<IpAddress> former = plan.former;
  former.insert(former.end(), change.released.begin(), change.released.end());
  if (former.size() > kMostFormer) {
    throw PlanError(PlanError::Kind::kRefused,
                    "its node has not told yet that it unplugged interfaces with these addresses, "
                    "and no more are kept: " +
                        Listed(plan.former) + "; remove fewer interfaces at a time");
  }
  const auto vifs = VifsFor(key, pod, *request);
  if (!vifs) return true;
  if (!RecordClaims(*request, *vifs)) {
    parts_.queue.AddRateLimited(key);
    return true;
  }
  sink_->Replace(known, *vifs, former);
  parts_.reporter.Clear(key.object);
  parts_.reporter.Tell(pod.owner(), "KuryrPlanChanged",
                       "its networks have changed: " + change.ToString(), parts_.writer);
  return true;
}

/// Takes the addresses from the object first, then from the backend: until then, a node may read
/// them.
bool Reconciler::ReleaseRemoved(const Key& key, const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  auto* releaser = parts_.backend.facets().interfaces;
  if (releaser == nullptr || !pod.started || !MismatchOf(known).empty()) return false;
  if (!TellsOfNone(parts_.view.GetPod(pod.name_space, pod.name), plan.former)) return false;
  std::optional<PlanRequest> request = RequestOf(key, pod);
  if (!request) return false;
  const InterfaceChange change(*request, plan.kept.vifs());
  if (!change.removed.empty()) return false;
  std::erase_if(request->interfaces, [&](const InterfaceRequest& interface) {
    return std::find(change.added.begin(), change.added.end(), interface.ifname) !=
           change.added.end();
  });
  const auto vifs = VifsFor(key, pod, *request);
  if (!vifs) return true;
  sink_->Replace(known, *vifs, {});
  releaser->ReleaseBut(pod.owner(), *vifs);
  parts_.queue.Add(key);  // Interfaces may have waited for it.
  return true;
}

void Reconciler::Plan(const Key& key, const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  std::optional<PlanRequest> request = RequestOf(key, pod);
  if (!request) return;
  const bool is_lost = HasLostPlan(known);
  auto vifs = is_lost ? ReserveTheSame(key, pod, *request) : Reserve(*request);
  if (!vifs) return sink_->Hold(known);
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
  Write(known, *vifs);
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

/// A refused plan is replaced as a whole.
void Reconciler::Write(const KnownPod& known, const std::vector<vif::PodVif>& vifs) {
  if (!PlanOf(known).refused.empty() && sink_->Holds(known)) return sink_->Replace(known, vifs, {});
  sink_->Write(known, vifs);
}

std::optional<std::vector<vif::PodVif>> Reconciler::ReserveTheSame(const Key& key,
                                                                   const PodFacts& pod,
                                                                   PlanRequest& request) {
  AskForTheSame(pod, parts_.view.GetPod(pod.name_space, pod.name), request);
  try {
    return Reserve(request);
  } catch (const PlanError& e) {
    if (e.kind() == PlanError::Kind::kRetry) throw;
    parts_.reporter.Report(pod.owner(), kAddressConflict,
                           std::string("its plan was taken away while it runs, and it may not "
                                       "have its addresses again: ") +
                               e.what() + "; delete the pod",
                           parts_.writer);
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

/// Takes the plan from the object first, then from the backend: until then, a node may read it.
void Reconciler::Release(const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  ClearPlan(known, parts_.writer);
  parts_.metrics.CountReleased();
  if (!parts_.backend.Release(pod.uid))
    parts_.queue.AddRateLimited(Key::OfPod(pod.name_space, pod.name));
}

/// A running pod is asked about only when it is deleted: kuryr-kubernetes may have planned
/// thousands.
bool Reconciler::HasLeftFinalizer(const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  if (!pod.has_finalizer || pod.plan.ours || !known.port || !IsOthers(known)) return false;
  if (pod.started && !pod.deleted) return false;
  return HasPutFinalizer(parts_.view.GetPod(pod.name_space, pod.name));
}

bool Reconciler::IsDone(const PodFacts& pod) {
  const Awaited awaited = AwaitedBy(pod);
  if (awaited != Awaited::kContainers) return awaited == Awaited::kNothing;
  if (parts_.view.IsNodeGone(pod.node)) return true;
  parts_.queue.AddAfter(Key::OfPod(pod.name_space, pod.name), kNodeAgain);
  return false;
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
