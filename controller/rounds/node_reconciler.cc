#include "controller/rounds/node_reconciler.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "controller/rounds/plan_retry.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

/// A kube-controller-manager that gives networks to nodes does so within a second, unless its
/// leader has just gone.
constexpr std::chrono::seconds kNetworksComeWithin{20};

PlanRequest RequestOf(const OwningNode& node, const NodeNetworkOptions& options) {
  return {.owner = node.owner(),
          .node_networks = node.facts.pod_cidrs,
          .node_addresses = node.facts.addresses,
          .interfaces = {{.ifname = std::string(vif::kDefaultIfname),
                          .is_default = true,
                          .sends_from = options.service_cidrs}}};
}

}  // namespace

void NodeReconciler::Round(const std::string& key) {
  const NodeStore::Known known = shared_.store.Find(key.substr(1));
  ReleaseGone(key, known);
  if (!known.node) {
    shared_.reporter.Clear(key);
    return;
  }
  try {
    Plan(key, *known.node);
  } catch (const PlanError& e) {
    shared_.reporter.Report(known.node->owner(), ReasonOf(e.kind()), e.what(), writer_);
    Retry(shared_.queue, key, e);
  } catch (const watcher::ApiError& e) {
    if (e.code() == watcher::ApiError::kNotFound) return;  // The watch is about to say so.
    if (e.code() == watcher::ApiError::kForbidden)
      shared_.reporter.Report(known.node->owner(), "KuryrPlanNotWritten", WithMissingRight(e),
                              writer_);
    throw;
  }
}

void NodeReconciler::ReleaseGone(const std::string& key, const NodeStore::Known& known) {
  for (const std::string& uid : known.gone) {
    if (shared_.backend.Release(uid)) {
      shared_.store.ForgetGone(key.substr(1), uid);
    } else {
      shared_.queue.AddRateLimited(key);
    }
  }
}

bool NodeReconciler::AwaitsNetworks(const std::string& key, const OwningNode& node) {
  const BackendNeeds& needs = shared_.needs;
  const bool may_wait = needs.node_networks && needs.gives_node_networks && node.vifs.empty();
  if (!may_wait || !node.facts.pod_cidrs.empty()) return false;
  const auto age = std::chrono::steady_clock::now() - node.seen;
  if (age < kNetworksComeWithin) {
    shared_.queue.AddAfter(key, kNetworksComeWithin - age);
    return true;
  }
  if (!shared_.store.HasPodCidrs()) return false;
  throw PlanError(
      PlanError::Kind::kRetry,
      "node " + node.name +
          " has no spec.podCIDRs, which other nodes have: kube-controller-manager gives "
          "them, with --allocate-node-cidrs");
}

void NodeReconciler::Plan(const std::string& key, const OwningNode& node) {
  if (AwaitsNetworks(key, node)) return;
  auto vifs = shared_.backend.Reserve(RequestOf(node, shared_.options));
  if (!vifs) return;  // The backend wakes the node.
  const bool is_active = shared_.backend.Await(node.owner(), *vifs);
  for (vif::PodVif& vif : *vifs) vif::Common(vif.vif).active = is_active;
  const std::string plan = vif::EncodeAnnotation(*vifs);
  if (plan != node.plan) {
    writer_.AnnotateNode(node.owner(), {{vif::kVifAnnotation, plan}});
    // The backend keeps ports that stand on an object, and looks whether they stay.
    shared_.backend.Adopt(node.owner(), *vifs);
    Log(LogLevel::kInfo, "node planned",
        {{"node", node.name}, {"active", is_active ? "true" : "false"}});
  }
  shared_.reporter.Clear(key);
}

}  // namespace kuryr::controller
