#pragma once

#include <set>
#include <string>
#include <vector>

#include "controller/backends/backend.h"
#include "controller/owners/pod_facts.h"
#include "controller/owners/pod_store.h"
#include "controller/plan/plan_places.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// Whether the pod must have VIFs: it is scheduled, has a network of its own, and is neither
/// deleted nor completed.
[[nodiscard]] bool NeedsPlan(const PodFacts& pod);

/// Reads a plan, without regard to its owner.
[[nodiscard]] PlanState Read(const Plan& plan);
/// The facts of a pod with its plan, and those of a KuryrPort with the plan on it.
[[nodiscard]] PodFacts ReadPod(const watcher::WatchEvent& pod, const Plan& plan,
                               const std::set<std::string>& label_keys);
[[nodiscard]] PortFacts ReadPort(const watcher::WatchEvent& kuryrport);
/// The addresses of all VIFs.
[[nodiscard]] std::vector<IpAddress> PlannedAddresses(const std::vector<vif::PodVif>& vifs);

/// Whether the backend planned all of the owner's VIFs.
[[nodiscard]] bool OwnsAll(const Backend& backend, const Owner& owner,
                           const std::vector<vif::PodVif>& vifs);
/// Judges the plan, and tells the backend if the plan is its own. A KuryrPort is judged only with
/// the pod of its name and UID. Otherwise a writer of KuryrPorts in one namespace could name a pod
/// of another.
void Judge(Backend& backend, const PlanPlaces& places, PodFacts& pod);
void JudgePort(Backend& backend, const PlanPlaces& places, KnownPod& known);
/// Tells the backend what another producer has planned for the pod, up to as many interfaces as the
/// pod asks for. Judge and JudgePort come before.
void HeedOthers(Backend& backend, KnownPod& known);
/// The addresses that the pod may have beside its plan: of earlier plans, and as its node tells. If
/// the plan is gone, the finalizer and the node's word stand for it until both are gone.
[[nodiscard]] AddressKeeper::Beside BesideOf(const KnownPod& known);

// The functions below take a pod that exists, after Judge and JudgePort.

/// The plan that counts: on the pod, or on its KuryrPort.
[[nodiscard]] const PlanState& PlanOf(const KnownPod& known);
/// Whether another producer plans this pod, or has just begun: its KuryrPort comes before its VIFs.
[[nodiscard]] bool IsOthers(const KnownPod& known);
/// The problem of the pod's plan, whoever planned it; empty: none.
[[nodiscard]] std::string ProblemOf(const KnownPod& known);
/// Whether the pod has something that only this controller takes away. A finalizer of
/// kuryr-kubernetes comes with a KuryrPort of its own, and kuryr-kubernetes takes it away.
[[nodiscard]] bool HasOurs(const KnownPod& known);

}  // namespace kuryr::controller
