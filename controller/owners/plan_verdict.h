#pragma once

#include <string>
#include <vector>

#include "controller/backends/backend.h"
#include "controller/owners/plan_places.h"
#include "controller/owners/pod_facts.h"
#include "controller/owners/pod_store.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// A pod that is to have VIFs: scheduled, of a network of its own, and neither deleted nor
/// completed.
[[nodiscard]] bool NeedsPlan(const PodFacts& pod);

/// A plan by itself.
[[nodiscard]] PlanState Read(const Plan& plan);
/// Of all its VIFs.
[[nodiscard]] std::vector<IpAddress> PlannedAddresses(const std::vector<vif::PodVif>& vifs);

/// These two tell the backend of a plan that is its own, and judge every plan. A KuryrPort is
/// judged with the pod of its name and UID alone: who may write KuryrPorts in one namespace could
/// name another's pod in them.
void Judge(Backend& backend, const PlanPlaces& places, PodFacts& pod);
void JudgePort(Backend& backend, const PlanPlaces& places, PodStore::Known& known);
/// Tells the backend, once both are judged, what another producer has planned for the pod, for as
/// many interfaces as the pod asks for.
void HeedOthers(Backend& backend, PodStore::Known& known);
/// What the pod may have beside its plan: addresses of earlier plans, and what its node tells.
/// Where its plan is gone, the node's word and the finalizer stand for it until both are gone.
[[nodiscard]] AddressKeeper::Beside BesideOf(const PodStore::Known& known);

// Of what is known and judged of a pod that is there:

/// What stands on the pod or beside it, where it counts.
[[nodiscard]] const PlanState& PlanOf(const PodStore::Known& known);
/// Another producer plans this pod, or has just begun to: its KuryrPort comes before its VIFs.
[[nodiscard]] bool IsOthers(const PodStore::Known& known);
/// What is wrong with what stands there, whoever planned it; empty: nothing.
[[nodiscard]] std::string ProblemOf(const PodStore::Known& known);
/// Something that only a controller takes away again. The original's finalizer comes with a
/// KuryrPort of its own, and is the original's to take away.
[[nodiscard]] bool HasOurs(const PodStore::Known& known);
/// It runs by a plan of ours that somebody has taken away: with its KuryrPort, say.
[[nodiscard]] bool HasLostPlan(const PodStore::Known& known);
/// Whether a controller may plan it anew: the plan is ours, and nobody has told that a node has
/// made any of it true.
[[nodiscard]] bool MayYield(const PodStore::Known& known);
/// That it has an earlier plan's address; empty: it has not.
[[nodiscard]] std::string MismatchOf(const PodStore::Known& known);

}  // namespace kuryr::controller
