#include "controller/rounds/node_reconciler.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/log.h"

namespace kuryr::controller {
namespace {

/// A kube-controller-manager that gives networks to nodes does so within a second, unless its
/// leader has just gone.
constexpr std::chrono::seconds kNetworksComeWithin{20};

PlanRequest RequestOf(const OwningNode& node, const ServiceCidrs& services) {
  return {.owner = node.owner(),
          .node_networks = node.facts.pod_cidrs,
          .node_addresses = node.facts.addresses,
          .interfaces = {{.ifname = std::string(vif::kDefaultIfname),
                          .is_default = true,
                          .sends_from = services.All()}}};
}

}  // namespace

void NodeReconciler::Look(const Key& key) {
  const KnownNode known = nodes_.Find(key.object);
  round_.ReleaseGone(nodes_, key, known.gone);
  if (!known.node) {
    parts_.reporter.Clear(key.object);
    return;
  }
  round_.Try(key, known.node->owner(), [&] { Plan(key, *known.node); });
}

bool NodeReconciler::AwaitsNetworks(const Key& key, const OwningNode& node) {
  const BackendNeeds& needs = parts_.needs;
  const bool may_wait = needs.node_networks && needs.gives_node_networks && node.vifs.empty();
  if (!may_wait || !node.facts.pod_cidrs.empty()) return false;
  const auto age = std::chrono::steady_clock::now() - node.seen;
  if (age < kNetworksComeWithin) {
    parts_.queue.AddAfter(key, kNetworksComeWithin - age);
    return true;
  }
  if (!nodes_.HasPodCidrs()) return false;
  throw PlanError(
      PlanError::Kind::kRetry,
      "node " + node.name +
          " has no spec.podCIDRs, which other nodes have: kube-controller-manager gives "
          "them, with --allocate-node-cidrs");
}

void NodeReconciler::Plan(const Key& key, const OwningNode& node) {
  if (AwaitsNetworks(key, node)) return;
  auto vifs = parts_.backend.Reserve(RequestOf(node, parts_.service_cidrs));
  if (!vifs) return;  // The backend wakes the node.
  const bool is_active = round_.Activate(node.owner(), *vifs);
  const std::string plan = vif::EncodeAnnotation(*vifs);
  if (plan != node.plan) {
    parts_.writer.AnnotateNode(node.owner(), {{vif::kVifAnnotation, plan}});
    // The backend keeps ports that stand on an object, and looks whether they stay.
    parts_.backend.Adopt(node.owner(), *vifs);
    Log(LogLevel::kInfo, "node planned",
        {{"node", node.name}, {"active", is_active ? "true" : "false"}});
  }
  const ChassisKeeper* const chassis = parts_.backend.facets().chassis;
  if (chassis != nullptr) {
    if (const auto problem = chassis->FindProblem(node.name))
      throw PlanError(PlanError::Kind::kRetry, *problem);
  }
  if (parts_.reporter.Clear(key.object))
    parts_.reporter.Tell(node.owner(), kNodeServed, "what kept it from a network is over",
                         parts_.writer);
}

}  // namespace kuryr::controller
