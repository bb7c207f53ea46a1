#pragma once

#include <string>
#include <vector>

#include "base/ip.h"
#include "config/config_file.h"

namespace kuryr {

/// Section [node_network] of kuryr.conf: how a node takes part in its pods' network. The controller
/// plans each node's management port, and the node's agent makes it.
struct NodeNetworkOptions {
  bool enabled = false;
  std::string interface = "kuryr0";  ///< the management port's name on every node
  /// The cluster's Services: the API server's --service-cluster-ip-range.
  std::vector<IpNetwork> service_cidrs;
  /// Whether the node masquerades its pods' packets to the outside.
  bool masquerade = true;
  /// Networks of the outside to which pods keep their addresses. Networks of pods and InternalIPs
  /// of nodes need no entry.
  std::vector<IpNetwork> non_masquerade_cidrs;
  bool routes = true;  ///< whether the node has routes to the pods of other nodes
  /// Whether the node enforces policies on pods for which it forwards.
  bool policies = true;
};

/// Reads the section. Throws ConfigError that names file, section and option.
[[nodiscard]] NodeNetworkOptions ReadNodeNetwork(const ConfigFiles& files);

}  // namespace kuryr
