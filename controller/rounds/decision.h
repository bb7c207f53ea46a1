#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/owners/pod_store.h"
#include "controller/plan/plan_request.h"

namespace kuryr::controller {

/// What a controller does with a pod next.
enum class Act {
  kNone,      ///< nothing: the pod is to have no plan, and has nothing of this controller
  kLeave,     ///< nothing: another producer plans the pod
  kUnusable,  ///< nothing: that producer's plan has a problem
  kTakeBack,  ///< removes the finalizer that came before another producer's plan
  kAwaitEnd,  ///< nothing until the node has removed everything of the pod; then as kRelease
  kRelease,   ///< removes plan and finalizer, and frees what the pod had
  kPlan,      ///< gives the pod its first plan
  kRestore,   ///< plans a pod that runs and has lost its plan, with the addresses that it has
  kReplace,   ///< plans the pod anew: its plan cannot be read, or is none that it would be given
  kRefuse,    ///< nothing: it is none that it would be given, but something of the pod runs
  kYield,     ///< gives the pod other addresses, as another pod keeps those that both have
  kActivate,  ///< writes the plan again when the backend says that it is active
  kConflict,  ///< as kActivate or kKeep, and tells that another pod has an address of the plan
  kLost,      ///< nothing: the plan is active, and one of its VIFs is gone
  kKeep,      ///< nothing: the plan is active
  kFree,      ///< frees the addresses of interfaces that the pod no longer has
  kChange,    ///< plans the interfaces that a running pod asks for now
};

/// What only a question tells of a pod. The first three are requests to the API server.
enum class Fact { kNone, kFinalizer, kNode, kUnplugged, kRivals, kRequest };

/// Another owner of an address, a MAC or a VLAN of the pod's plan.
struct Rival {
  KnownPod known;            ///< without a pod if it is none, or is not known
  bool stands_here = false;  ///< its plan stands where this controller writes
};

/// What is known of a pod beside the store's facts. nullopt: nobody has asked.
struct PodOutlook {
  bool stands_here = false;           ///< the plan stands where this controller writes
  std::optional<bool> put_finalizer;  ///< a controller has put the pod's finalizer there
  std::optional<bool> node_gone;
  std::optional<bool> unplugged;  ///< the node tells of none of the plan's former addresses
  std::optional<std::vector<Rival>> rivals;
  std::optional<PlanRequest> request;
  std::string loss;  ///< the VIFs that an active plan has lost; empty: none
};

struct Decision {
  Act act = Act::kNone;
  Fact missing = Fact::kNone;  ///< ask for it, and decide again; the act is that without it
  std::string problem;         ///< of the plan; empty: none
};

/// What a controller does with a pod that exists, after Judge and JudgePort. Pure, and the one
/// place that decides: rounds do what it says, and commands print it.
[[nodiscard]] Decision Decide(const KnownPod& known, const PodOutlook& outlook);
/// The second decision, about a plan that stays by the first one: kFree, kChange or kKeep.
/// PlanError kRefused for an annotation that cannot be read.
[[nodiscard]] Decision DecideInterfaces(const KnownPod& known, const PodOutlook& outlook);
/// Whether the rival gives up what both pods have, in a round of its own.
[[nodiscard]] bool Yields(const Rival& rival, const PodFacts& pod);

}  // namespace kuryr::controller
