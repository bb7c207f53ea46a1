#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/backends/backend.h"
#include "controller/backends/neutron/api/neutron_api.h"
#include "controller/backends/neutron/held/seen_port.h"
#include "controller/backends/neutron/stock/port_pools.h"

namespace kuryr::controller::neutron {

/// Lists of the cluster's ports in Neutron: they have its tags, or the mark that tags will follow.
/// Without tags in kuryr.conf, no port is known as the cluster's. All calls throw NeutronError.
/// Thread-safe.
class ClusterPorts {
 public:
  explicit ClusterPorts(const PortPools::Means& means) : means_(means) {}

  [[nodiscard]] std::vector<ListedPort> All();
  [[nodiscard]] std::vector<Owner> Owners();
  /// Pods that have ports, none of which is ACTIVE: nothing is plugged. A port whose name does not
  /// say which pod it is for counts as ACTIVE.
  [[nodiscard]] std::vector<Owner> IdlePods();
  /// Each port as it is now or later, by its id.
  [[nodiscard]] std::map<std::string, SeenPort> Seen();
  /// PortLister::ListUnmarked.
  [[nodiscard]] std::vector<ListedPort> Unmarked();
  /// All ports with an owner, whatever their tags, because a new port has no tags yet. Ports of
  /// other clusters are among them.
  [[nodiscard]] std::vector<ListedPort> Owned();

 private:
  [[nodiscard]] std::vector<Port> Find();

  const PortPools::Means means_;
};

}  // namespace kuryr::controller::neutron
