#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/config_file.h"
#include "base/ip.h"
#include "controller/backends/pools/pool_subnet.h"

namespace kuryr::controller::pools {

/// The kind of VIF that a pool's pods get.
enum class VifKind : uint8_t { kOvs, kBridge, kMacvlan, kVlan };

struct PoolRoute {
  IpNetwork destination;
  std::optional<IpAddress> gateway;  ///< nothing: on link

  bool operator==(const PoolRoute&) const = default;
};

/// What a section [pool:NAME] of kuryr.conf says; docs/pools.md has the options.
struct Pool {
  std::string name;  ///< a DNS label
  VifKind kind = VifKind::kOvs;
  std::string bridge;            ///< empty for macvlan and vlan
  std::string bridge_interface;  ///< empty: none
  std::optional<uint16_t> vlan;  ///< the network's; with a bridge_interface
  Range vlan_ids = {1, 4094};    ///< of pods, for kind vlan
  std::optional<uint32_t> mtu;

  std::vector<PoolSubnet> subnets;  ///< at most one of each family; none with from_node
  bool from_node = false;           ///< addresses are of the networks that the pod's node has
  bool node_gateways = true;        ///< those networks have one, their first address
  std::vector<Range> excluded;      ///< of those networks
  std::vector<IpAddress> dns;
  std::vector<PoolRoute> routes;

  bool all_namespaces = false;
  std::vector<std::string> namespaces;
  std::map<std::string, std::string> pods;  ///< labels that a pod has to have; empty: any
  bool is_default = false;
  std::chrono::seconds rest{30};  ///< of an address after its release
};

/// All of them, by name; at most one is the default, at most one from_node, and none overlaps
/// another of its bridge. Each has an address to give. Throws ConfigError that names file, section
/// and option.
[[nodiscard]] std::vector<Pool> ReadPools(const ConfigFiles& files);

/// What two pools must share that their addresses may collide: the bridge's name, or nothing where
/// pods stand on the node's link.
[[nodiscard]] inline bool ShareSegment(const Pool& one, const Pool& other) {
  return one.bridge == other.bridge;
}

}  // namespace kuryr::controller::pools
