#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/owners/pod_store.h"
#include "controller/owners/vif_sink.h"
#include "controller/rounds/decision.h"
#include "controller/rounds/owner_round.h"

namespace kuryr::controller {

/// Looks at a pod, whatever woke it, and does what Decide says.
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
  /// Asks for what a decision misses. False: nothing; or it is the request, and the pod's namespace
  /// is not known yet, which then wakes the key.
  [[nodiscard]] bool Find(Fact fact, const Key& key, const KnownPod& known, PodOutlook& outlook);
  /// Wakes those that yield.
  [[nodiscard]] std::vector<Rival> FindRivals(const KnownPod& known);

  void End(const Key& key, const KnownPod& known, Act act);
  void Plan(const Key& key, const KnownPod& known, Act act);
  void Yield(const Key& key, const KnownPod& known, PlanRequest request);
  /// Takes the second decision about a plan that stays, and does both.
  void Keep(const Key& key, const KnownPod& known, const Decision& decision, PodOutlook& outlook);
  void Free(const Key& key, const KnownPod& known, PlanRequest request);
  void Change(const Key& key, const KnownPod& known, const PlanRequest& request);
  void Report(const PodFacts& pod, const char* reason, const std::string& problem);
  /// The VIFs of a pod that has a plan, ready to be written; nullopt: under way.
  [[nodiscard]] std::optional<std::vector<vif::PodVif>> VifsFor(const Key& key, const PodFacts& pod,
                                                                const PlanRequest& request);
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
  /// Deletes a KuryrPort that a controller made, if its pod is gone.
  void DeleteOrphan(const Key& key, const PortFacts& port);

  PodStore& pods_;
  const RoundParts parts_;
  const std::unique_ptr<VifSink> sink_;
  OwnerRound round_;
};

}  // namespace kuryr::controller
