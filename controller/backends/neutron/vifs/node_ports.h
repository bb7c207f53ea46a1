#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/backends/neutron/api/neutron_api.h"
#include "controller/backends/neutron/settings/pod_defaults.h"
#include "controller/backends/neutron/vifs/vif_driver.h"

namespace kuryr::controller::neutron {

/// The ports of nodes that are virtual machines: they have an address in [pod_vif_nested]
/// worker_nodes_subnets. Caches nothing. Thread-safe.
class NodePorts {
 public:
  /// Borrows both.
  NodePorts(NeutronApi& api, const PodDefaults& defaults) : api_(api), defaults_(defaults) {}

  /// The port with the node's address. Throws NeutronError, and PlanError kGone if there is none.
  [[nodiscard]] NodePort Find(const PodNode& node);
  /// The port as it is now; nullopt: it is gone. Throws NeutronError.
  [[nodiscard]] std::optional<NodePort> Get(const std::string& id);
  /// All ports in these subnets, even if they are no node's. Throws NeutronError.
  [[nodiscard]] std::vector<NodePort> All();

 private:
  NeutronApi& api_;
  const PodDefaults& defaults_;
};

}  // namespace kuryr::controller::neutron
