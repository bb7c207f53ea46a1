#pragma once

#include <string>

#include "controller/cluster/node_store.h"
#include "controller/rounds/owner_round.h"

namespace kuryr::controller {

/// Plans management ports of nodes. A round looks at one node: it writes the plan that the backend
/// has for it where the Node's annotation differs, and releases what deleted nodes of that name
/// had.
class NodeReconciler : public Round {
 public:
  NodeReconciler(NodeStore& nodes, const RoundParts& parts)
      : nodes_(nodes), parts_(parts), round_(parts) {}

  void Look(const Key& key) override;

 private:
  void Plan(const Key& key, const OwningNode& node);
  /// Whether to wait for the node's own networks; its key then comes again. kube-controller-manager
  /// writes them some time after the Node is made. PlanError kRetry if they do not come.
  [[nodiscard]] bool AwaitsNetworks(const Key& key, const OwningNode& node);

  NodeStore& nodes_;
  const RoundParts parts_;
  OwnerRound round_;
};

}  // namespace kuryr::controller
