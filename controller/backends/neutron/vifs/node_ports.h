#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/backends/neutron/api/neutron_api.h"
#include "controller/backends/neutron/settings/pod_defaults.h"
#include "controller/backends/neutron/vifs/vif_driver.h"

namespace kuryr::controller::neutron {

/// The ports of the virtual machines that are nodes: those with an address of [pod_vif_nested]
/// worker_nodes_subnets. Keeps nothing. Thread-safe.
class NodePorts {
 public:
  /// Borrows both.
  NodePorts(NeutronApi& api, const PodDefaults& defaults) : api_(api), defaults_(defaults) {}

  /// The one with the node's address. Throws NeutronError, and PlanError kGone without one.
  [[nodiscard]] NodePort Find(const PodNode& node);
  /// The port as it is now; nullopt: it is gone. Throws NeutronError.
  [[nodiscard]] std::optional<NodePort> Get(const std::string& id);
  /// Also ports of others in these subnets. Throws NeutronError.
  [[nodiscard]] std::vector<NodePort> All();

 private:
  NeutronApi& api_;
  const PodDefaults& defaults_;
};

}  // namespace kuryr::controller::neutron
