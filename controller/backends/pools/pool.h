#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "config/config_file.h"
#include "config/pool_link.h"
#include "controller/backends/pools/node_blocks.h"
#include "controller/backends/pools/pool_subnet.h"

namespace kuryr::controller::pools {

struct PoolRoute {
  IpNetwork destination;
  std::optional<IpAddress> gateway;  ///< nothing: on link

  bool operator==(const PoolRoute&) const = default;
};

/// A section [pool:NAME] of kuryr.conf; docs/pools.md has the options.
struct Pool {
  std::string name;  ///< a DNS label
  VifKind kind = VifKind::kOvs;
  std::string bridge;            ///< empty for macvlan and vlan
  std::string bridge_interface;  ///< empty: none
  std::optional<uint16_t> vlan;  ///< the network's VLAN id; needs bridge_interface
  Range vlan_ids = {1, 4094};    ///< one for each pod; kind vlan only
  std::optional<uint32_t> mtu;

  std::vector<PoolSubnet> subnets;  ///< at most one of each family; none with from_node
  bool from_node = false;           ///< the addresses are in the networks of the pod's node
  bool pod_cidrs = false;           ///< with from_node: those of its spec.podCIDRs, if it has any
  std::vector<NodeBlocks> blocks;   ///< with from_node: the networks of other nodes
  bool node_gateways = true;        ///< each of those networks has one, its first address
  bool for_nodes = false;           ///< nodes have management ports in those networks
  /// The node itself is that gateway: pods have addresses without a network on their link, and all
  /// that they send passes the node.
  bool routed = false;
  /// Nodes keep the pods to their addresses (flows of the bridge); unset: the option is not given.
  std::optional<bool> port_security;
  std::vector<Range> excluded;  ///< parts of those networks that pods do not get
  std::vector<IpAddress> dns;
  std::vector<PoolRoute> routes;

  bool all_namespaces = false;
  std::vector<std::string> namespaces;
  std::map<std::string, std::string> pods;  ///< labels that a pod must have; empty: any
  bool is_default = false;
  std::chrono::seconds rest{30};  ///< time before a released address is as good as others
};

/// The owner of the gateway address in a node's network.
enum class NodeGateway : uint8_t { kNode, kRouter };

/// All pools, sorted by name. At most one is the default, and at most one is from_node. None
/// overlaps another on its bridge, and each has an address to give. Throws ConfigError that names
/// file, section and option.
[[nodiscard]] std::vector<Pool> ReadPools(const ConfigFiles& files,
                                          NodeGateway gateway = NodeGateway::kNode);

/// Whether the addresses of two pools may collide: both are on the same bridge, or both on the
/// node's link (without a bridge).
[[nodiscard]] inline bool ShareSegment(const Pool& one, const Pool& other) {
  return one.bridge == other.bridge;
}

}  // namespace kuryr::controller::pools
