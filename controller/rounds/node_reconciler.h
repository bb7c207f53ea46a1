#pragma once

#include <string>

#include "controller/cluster/node_store.h"
#include "controller/owners/writer.h"
#include "controller/rounds/owner_round.h"

namespace kuryr::controller {

/// Plans management ports of nodes. A round looks at one node: it writes the plan that the backend
/// has for it where the Node's annotation differs, and releases what deleted nodes of that name
/// had. Each worker has its own: it is not thread-safe, and what it shares is.
class NodeReconciler {
 public:
  /// Borrows the writer.
  NodeReconciler(const RoundParts& parts, Writer& writer)
      : parts_(parts), writer_(writer), round_(parts, writer) {}

  /// Throws what Writer does, where the same round is to come again.
  void Round(const Key& key);

 private:
  void Plan(const Key& key, const OwningNode& node);
  /// Whether to wait for the node's own networks; its key then comes again. kube-controller-manager
  /// writes them some time after the Node is made. PlanError kRetry if they do not come.
  [[nodiscard]] bool AwaitsNetworks(const Key& key, const OwningNode& node);

  const RoundParts parts_;
  Writer& writer_;
  OwnerRound round_;
};

}  // namespace kuryr::controller
