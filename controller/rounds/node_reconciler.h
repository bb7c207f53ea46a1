#pragma once

#include <string>

#include "base/node_network_options.h"
#include "controller/backends/backend_factory.h"
#include "controller/cluster/node_store.h"
#include "controller/owners/writer.h"
#include "controller/rounds/reporter.h"
#include "service/work_queue.h"

namespace kuryr::controller {

/// Plans management ports of nodes. A round looks at one node: it writes the plan that the backend
/// has for it where the Node's annotation differs, and releases what deleted nodes of that name
/// had. Each worker has its own: it is not thread-safe, and what it shares is.
class NodeReconciler {
 public:
  /// All borrowed.
  struct Shared {
    Backend& backend;
    NodeStore& store;
    service::WorkQueue& queue;
    Reporter& reporter;
    const NodeNetworkOptions& options;
    BackendNeeds needs;
  };

  /// Borrows the writer.
  NodeReconciler(const Shared& shared, Writer& writer) : shared_(shared), writer_(writer) {}

  /// Throws what Writer does, where the same round is to come again.
  void Round(const std::string& key);

 private:
  void ReleaseGone(const std::string& key, const NodeStore::Known& known);
  void Plan(const std::string& key, const OwningNode& node);
  /// Whether the node's own networks are waited for; its key comes again then. kube-controller-
  /// manager writes them some time after the Node is made. PlanError kRetry where they stay away.
  [[nodiscard]] bool AwaitsNetworks(const std::string& key, const OwningNode& node);

  const Shared shared_;
  Writer& writer_;
};

/// Whether the key is a node's: KeyOf of an owner without a scope.
[[nodiscard]] inline bool IsNodeKey(const std::string& key) { return key.starts_with('/'); }

}  // namespace kuryr::controller
