#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/owners/pod_store.h"
#include "controller/owners/vif_sink.h"
#include "controller/rounds/owner_round.h"

namespace kuryr::controller {

/// Compares what a pod should have with what it has, and makes it so. A round looks at one pod,
/// whatever woke it:
///
/// - A pod that is to have VIFs and has none gets a plan, written with the finalizer.
/// - A plan that is not active becomes active once the backend says so.
/// - A pod that runs and lost its plan gets a plan with the addresses that it has.
/// - A plan that no controller would have given is replaced, while nothing of the pod runs.
/// - A pod that asks for other interfaces while it runs gets them. The others keep their VIFs.
/// - Of two pods with one address, the one that yields gets other addresses.
/// - A pod that is done loses its plan and finalizer, and what it had is released.
/// - What a pod that is gone had is released.
/// - A pod whose active plan has lost VIFs gets an Event that says so.
/// - A pod that another producer plans keeps that plan. A finalizer of ours that came before that
///   plan is taken back.
class Reconciler : public Round {
 public:
  Reconciler(PodStore& pods, const RoundParts& parts)
      : pods_(pods),
        parts_(parts),
        sink_(MakeSink(parts.sink, parts.writer, parts.holds_ports)),
        round_(parts) {}

  void Look(const Key& key) override;

 private:
  void RoundOf(const Key& key, const KnownPod& known);
  void Plan(const Key& key, const KnownPod& known);
  /// Treats a pod whose plan no controller would have written. True: it is to be planned anew.
  [[nodiscard]] bool Refuse(const KnownPod& known);
  void Write(const KnownPod& known, const std::vector<vif::PodVif>& vifs);
  /// Settles which of two pods keeps an address that both plans have. Returns the problem of this
  /// pod's plan; empty: none.
  [[nodiscard]] std::string Settle(const Key& key, const KnownPod& known);
  /// Gives the pod other addresses, now or in a later round. False: the pod keeps its addresses.
  [[nodiscard]] bool Replan(const Key& key, const KnownPod& known);
  /// Changes the plan of a pod that asks for other interfaces. True: the change is under way, or
  /// done.
  [[nodiscard]] bool Change(const Key& key, const KnownPod& known);
  /// Frees the addresses of removed interfaces, once the pod's node has unplugged them. True: the
  /// release is under way, or done.
  [[nodiscard]] bool ReleaseRemoved(const Key& key, const KnownPod& known);
  /// The VIFs of a pod that has a plan, ready to be written; nullopt: under way.
  [[nodiscard]] std::optional<std::vector<vif::PodVif>> VifsFor(const Key& key, const PodFacts& pod,
                                                                const PlanRequest& request);
  void ReportLost(const Key& key, const PodFacts& pod);
  /// nullopt: the pod's namespace is not known yet; it wakes the key when it is.
  [[nodiscard]] std::optional<PlanRequest> RequestOf(const Key& key, const PodFacts& pod);
  /// nullopt: the backend works on it, and wakes the key.
  [[nodiscard]] std::optional<std::vector<vif::PodVif>> Reserve(const PlanRequest& request);
  /// Reserves the present addresses of a pod whose plan is lost. nullopt: the backend works on it,
  /// or another pod has them, and an Event says so.
  [[nodiscard]] std::optional<std::vector<vif::PodVif>> ReserveTheSame(const Key& key,
                                                                       const PodFacts& pod,
                                                                       PlanRequest& request);
  /// Writes the addresses to the pod's claims before the plan is written: so a claim's next pod
  /// gets them, whatever happens to this one. False: a claim has other addresses.
  [[nodiscard]] bool RecordClaims(const PlanRequest& request, const std::vector<vif::PodVif>& vifs);
  /// The plan of the node's management port. PlanError kRetry: there is none yet; it wakes the pod
  /// when it comes.
  [[nodiscard]] std::vector<vif::PodVif> PlanOfNode(const Key& key, const PodFacts& pod);
  [[nodiscard]] std::vector<IpNetwork> NetworksOfNode(const Key& key, const PodFacts& pod);
  void AddServiceRoutes(const Key& key, const PodFacts& pod, std::vector<vif::PodVif>& vifs);
  void Release(const KnownPod& known);
  /// Whether a pod of another producer still has this controller's finalizer. A leader gave it
  /// before it knew the producer's KuryrPort.
  [[nodiscard]] bool HasLeftFinalizer(const KnownPod& known);
  /// Whether the node has removed everything of the pod.
  [[nodiscard]] bool IsDone(const PodFacts& pod);
  /// Deletes a KuryrPort that a controller made, if its pod is gone.
  void DeleteOrphan(const Key& key, const PortFacts& port);

  PodStore& pods_;
  const RoundParts parts_;
  const std::unique_ptr<VifSink> sink_;
  OwnerRound round_;
};

}  // namespace kuryr::controller
