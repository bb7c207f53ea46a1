#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/node_network_options.h"
#include "controller/backends/backend_factory.h"
#include "controller/cluster/cluster_view.h"
#include "controller/cluster/ipam_claims.h"
#include "controller/cluster/namespaces.h"
#include "controller/cluster/network_attachments.h"
#include "controller/cluster/node_store.h"
#include "controller/owners/pod_store.h"
#include "controller/owners/vif_sink.h"
#include "controller/owners/writer.h"
#include "controller/rounds/reporter.h"
#include "controller/rounds/round_metrics.h"
#include "service/work_queue.h"

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
/// - An active plan whose VIFs somebody took away gets an Event that says so.
/// - A pod that another producer plans keeps that plan. A finalizer of ours that came before that
///   plan is taken back.
///
/// Each worker has a Reconciler: it is not thread-safe, and what it shares is.
class Reconciler {
 public:
  /// All borrowed.
  struct Shared {
    Backend& backend;
    PodStore& store;
    service::WorkQueue& queue;
    Reporter& reporter;
    RoundMetrics& metrics;
    NetworkAttachments& attachments;
    IpamClaims& claims;
    Namespaces& namespaces;
    NodeStore& nodes;
    const NodeNetworkOptions& node_network;
    SinkKind sink;
    BackendNeeds needs;
    std::function<void()> ask_for_absent;  ///< a resource that was absent may be there now
  };

  /// Borrows writer and view.
  Reconciler(const Shared& shared, Writer& writer, ClusterView& view)
      : shared_(shared), writer_(writer), view_(view), sink_(MakeSink(shared.sink, writer)) {}

  /// Throws what Writer does, where the same round is to come again.
  void Round(const std::string& key);

 private:
  void RoundOf(const std::string& key, const PodStore::Known& known);
  void Plan(const std::string& key, const PodStore::Known& known);
  /// Treats a pod whose plan no controller would have written. True: it is to be planned anew.
  [[nodiscard]] bool Refuse(const PodStore::Known& known);
  void Write(const PodStore::Known& known, const std::vector<vif::PodVif>& vifs);
  /// Why a pod with a plan is not well; empty where it is. What two plans have is taken from one.
  [[nodiscard]] std::string Settle(const std::string& key, const PodStore::Known& known);
  /// It has other addresses now, or will have. False: it keeps those that it has.
  [[nodiscard]] bool Replan(const std::string& key, const PodStore::Known& known);
  /// Changes the plan of a pod that asks for other interfaces. True: that is under way, or done.
  [[nodiscard]] bool Change(const std::string& key, const PodStore::Known& known);
  /// Frees what removed interfaces had, once the pod's node has unplugged them. True: that is under
  /// way, or done.
  [[nodiscard]] bool ReleaseRemoved(const std::string& key, const PodStore::Known& known);
  /// The VIFs of a pod that has a plan, ready to be written; nullopt: under way.
  [[nodiscard]] std::optional<std::vector<vif::PodVif>> VifsFor(const std::string& key,
                                                                const PodFacts& pod,
                                                                const PlanRequest& request);
  void ReportLost(const std::string& key, const PodFacts& pod);
  /// nullopt: its namespace is not known yet. Its key is woken when it is.
  [[nodiscard]] std::optional<PlanRequest> RequestOf(const std::string& key, const PodFacts& pod);
  /// nullopt: under way.
  [[nodiscard]] std::optional<std::vector<vif::PodVif>> Reserve(const PlanRequest& request);
  /// For a pod that has lost its plan. Nothing: under way, or told as a conflict.
  [[nodiscard]] std::optional<std::vector<vif::PodVif>> ReserveTheSame(const std::string& key,
                                                                       const PodFacts& pod,
                                                                       PlanRequest& request);
  /// Before the plan: a claim's next pod gets what this one had, whatever happens to it. False:
  /// what was reserved is not the claim's.
  [[nodiscard]] bool RecordClaims(const PlanRequest& request, const std::vector<vif::PodVif>& vifs);
  /// The plan of the node's management port. PlanError kRetry: it has none yet, which wakes the pod
  /// when it comes.
  [[nodiscard]] std::vector<vif::PodVif> PlanOfNode(const std::string& key, const PodFacts& pod);
  [[nodiscard]] std::vector<IpNetwork> NetworksOfNode(const std::string& key, const PodFacts& pod);
  void AddServiceRoutes(const std::string& key, const PodFacts& pod,
                        std::vector<vif::PodVif>& vifs);
  void Release(const PodStore::Known& known);
  /// Looks at a pod that another producer plans: its KuryrPort was not heard of yet when this
  /// controller, or a former leader, began to plan the pod.
  [[nodiscard]] bool HasLeftFinalizer(const PodStore::Known& known);
  void ReleaseGone(const std::string& key, const std::vector<std::string>& gone);
  /// The node has nothing of it any more.
  [[nodiscard]] bool IsDone(const PodFacts& pod);
  /// A KuryrPort of ours that nobody owns.
  void DeleteOrphan(const std::string& key, const PortFacts& port);
  void Handle(const std::string& key, const PodFacts& pod, const PlanError& error);

  const Shared shared_;
  Writer& writer_;
  ClusterView& view_;
  const std::unique_ptr<VifSink> sink_;
};

}  // namespace kuryr::controller
