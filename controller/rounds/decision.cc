#include "controller/rounds/decision.h"

#include <algorithm>

#include "controller/owners/plan_verdict.h"
#include "controller/owners/vif_sink.h"
#include "controller/rounds/interface_change.h"

namespace kuryr::controller {
namespace {

/// Whether a leader may have given the finalizer before it knew the other producer's KuryrPort. A
/// running pod is asked about only when it is deleted: kuryr-kubernetes may have planned thousands.
bool MayHaveLeftFinalizer(const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  return pod.has_finalizer && !pod.plan.ours && known.port && IsOthers(known) &&
         (!pod.started || pod.deleted);
}

/// Whether a controller may replace the plan: it is this controller's, and no node has told that
/// the pod uses it.
bool MayYield(const KnownPod& known) {
  const PlanState& plan = PlanOf(known);
  return NeedsPlan(*known.pod) && !IsOthers(known) && plan.ours && !known.pod->started &&
         plan.former.size() + PlannedAddresses(plan.kept.vifs()).size() <= kMostFormer;
}

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

/// Names an address of an earlier plan that the pod has; empty: there is none.
std::string MismatchOf(const KnownPod& known) {
  const PlanState& plan = PlanOf(known);
  if (!plan.ours || plan.former.empty()) return "";
  const std::vector<IpAddress> planned = PlannedAddresses(plan.kept.vifs());
  for (const IpAddress& address : known.pod->addresses_there) {
    if (std::count(planned.begin(), planned.end(), address) > 0) continue;
    if (std::count(plan.former.begin(), plan.former.end(), address) == 0) continue;
    return "the pod has address " + address.ToString() +
           ", which it was to have until its plan got another one: delete the pod";
  }
  return "";
}

/// A pod that is to have no plan, or not any more.
Decision DecideEnd(const KnownPod& known, const PodOutlook& outlook) {
  if (!HasOurs(known)) return {.act = IsOthers(known) ? Act::kLeave : Act::kNone};
  const Awaited awaited = AwaitedBy(*known.pod);
  if (awaited == Awaited::kContainers && !outlook.node_gone)
    return {.act = Act::kAwaitEnd, .missing = Fact::kNode};
  const bool is_done =
      awaited == Awaited::kContainers ? *outlook.node_gone : awaited == Awaited::kNothing;
  return {.act = is_done ? Act::kRelease : Act::kAwaitEnd};
}

/// A plan of this controller that can be read, and that the pod could have been given. A rival's
/// plan that is not where this controller writes may be a user's: it never makes a pod yield.
Decision DecidePlanned(const KnownPod& known, const PodOutlook& outlook) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  const Act act = plan.active ? Act::kKeep : Act::kActivate;
  if (!outlook.rivals) return {.act = act, .missing = Fact::kRivals};
  std::string conflict = MismatchOf(known);
  bool yields = false;
  for (const Rival& rival : *outlook.rivals) {
    if (Yields(rival, pod)) continue;
    yields = yields || (rival.stands_here && GoesBefore(*rival.known.pod, pod));
    if (conflict.empty()) conflict = plan.problem;
    if (conflict.empty())
      conflict = "another pod has this one's, too: " + Listed(PlannedAddresses(plan.kept.vifs()));
  }
  if (yields && outlook.stands_here && MayYield(known)) {
    if (!outlook.request) return {.act = act, .missing = Fact::kRequest};
    if (MayReplan(*outlook.request, plan.kept.vifs())) return {.act = Act::kYield};
  }
  if (!conflict.empty()) return {.act = Act::kConflict, .problem = std::move(conflict)};
  if (!plan.active || outlook.loss.empty()) return {.act = act};
  return {.act = Act::kLost, .problem = outlook.loss};
}

}  // namespace

bool Yields(const Rival& rival, const PodFacts& pod) {
  return rival.known.pod && GoesBefore(pod, *rival.known.pod) && MayYield(rival.known);
}

Decision Decide(const KnownPod& known, const PodOutlook& outlook) {
  const PodFacts& pod = *known.pod;
  if (MayHaveLeftFinalizer(known)) {
    if (!outlook.put_finalizer) return {.act = Act::kLeave, .missing = Fact::kFinalizer};
    if (*outlook.put_finalizer) return {.act = Act::kTakeBack};
  }
  if (!NeedsPlan(pod)) return DecideEnd(known, outlook);
  if (IsOthers(known)) {
    std::string problem = ProblemOf(known);
    return {.act = problem.empty() ? Act::kLeave : Act::kUnusable, .problem = std::move(problem)};
  }
  const PlanState& plan = PlanOf(known);
  const bool runs_by_a_plan = pod.has_finalizer && pod.started && !pod.addresses_there.empty();
  if (!plan.present) return {.act = runs_by_a_plan ? Act::kRestore : Act::kPlan};
  if (!plan.refused.empty())
    return {.act = pod.started ? Act::kRefuse : Act::kReplace, .problem = plan.refused};
  if (plan.kept.empty()) return {.act = Act::kReplace, .problem = plan.problem};
  return DecidePlanned(known, outlook);
}

Decision DecideInterfaces(const KnownPod& known, const PodOutlook& outlook) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  if (!plan.ours || !outlook.stands_here) return {.act = Act::kKeep};
  const std::vector<vif::PodVif> planned = plan.kept.vifs();
  const bool may_free = !plan.former.empty() && pod.started && MismatchOf(known).empty();
  if (may_free && !outlook.unplugged) return {.act = Act::kKeep, .missing = Fact::kUnplugged};
  const bool frees = may_free && *outlook.unplugged;
  if (!frees && !MayHaveChanged(pod, planned)) return {.act = Act::kKeep};
  if (!outlook.request) return {.act = Act::kKeep, .missing = Fact::kRequest};
  const InterfaceChange change(*outlook.request, planned);
  if (frees && change.removed.empty()) return {.act = Act::kFree};
  const bool changes = !change.empty() && MayHaveChanged(pod, planned);
  return {.act = changes ? Act::kChange : Act::kKeep};
}

}  // namespace kuryr::controller
