#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"
#include "binding/config.h"
#include "config/node_network_options.h"
#include "vif/pod_vifs.h"

namespace kuryr::binding {

/// The node's own port in its pods' network.
struct ManagementPort {
  std::string name;  ///< of the port, and of its link on the node
  std::string bridge;
  MacAddress mac;
  std::optional<uint32_t> mtu;       ///< absent: Open vSwitch chooses
  std::string interface_id;          ///< external_ids:iface-id
  std::vector<IpNetwork> addresses;  ///< with the prefix lengths of their networks
  /// Routers on the link, which join the networks of all nodes' pods; none where this node is its
  /// pods' gateway.
  std::vector<IpAddress> gateways;

  bool operator==(const ManagementPort&) const = default;
  /// The networks of the addresses: those of the node's pods.
  [[nodiscard]] std::vector<IpNetwork> Networks() const;
  [[nodiscard]] std::optional<IpAddress> GatewayOf(IpFamily family) const;
};

/// The port that a VIF of the node plans. Throws ParseError with the field's path for a VIF that no
/// such port can have, UnsupportedVif for another kind of VIF, or a bridge that `config` does not
/// allow.
[[nodiscard]] ManagementPort PlanManagementPort(const vif::PodVif& vif,
                                                const BindingConfig& config);

/// What another Node says of itself. Its kubelet may write that, and who is root there.
struct OtherNode {
  std::string name;
  std::vector<IpAddress> addresses;  ///< its InternalIPs
  std::vector<IpNetwork> networks;   ///< of its pods
  /// When it said so: later ones have larger numbers, those that are absent were first.
  std::map<IpAddress, uint64_t> addresses_since;
  std::map<IpNetwork, uint64_t> networks_since;

  bool operator==(const OtherNode&) const = default;
};

/// Section [ovn] of kuryr.conf, for a node.
struct ChassisOptions {
  bool is_managed = false;        ///< manage_node: the agent makes the node a chassis of OVN
  std::string sb_connection;      ///< OVN's southbound database (ovsdb(7)), for ovn-controller
  std::string cluster = "kuryr";  ///< for the chassis' ChassisMark
  /// issue_certificates: kuryr-controller signs the key of the node's ovn-controller.
  bool issues_certificates = false;
  std::string node_authority;  ///< a file with the certificate of who has signed it

  bool operator==(const ChassisOptions&) const = default;
};

/// All that a node needs to know to take part in its pods' network.
struct NodePlan {
  std::string name;     ///< of the Node
  std::string machine;  ///< of its ChassisMark
  ManagementPort port;
  std::vector<IpAddress> addresses;  ///< the node's InternalIPs
  std::vector<OtherNode> others;     ///< by name
  NodeNetworkOptions options;
  ChassisOptions chassis;

  bool operator==(const NodePlan& other) const;
};

/// A network of another node's pods.
struct RemoteNetwork {
  std::string node;
  IpNetwork network;
  bool is_shared = false;        ///< a flat pool: it is a network of this node's pods as well
  bool is_joined = false;        ///< `via` is the management port's gateway
  std::optional<IpAddress> via;  ///< that gateway, or else the node's InternalIP of the family
  std::string refused;           ///< why the network is left out of everything; or empty
  std::string ignored;           ///< what a Node said later that contradicts it; or empty
};
/// Every network of every other node. One that would take packets for others from the node is
/// refused: it overlaps the node's own pods or the Services, is wider than /8, link-local, loopback
/// or multicast, has an InternalIP in it that no node said later, or overlaps a network that was
/// there before it. In a network that is neither shared nor joined, the nodes lead packets to each
/// other's pods. The oldest come first, then those of the first node by name.
[[nodiscard]] std::vector<RemoteNetwork> RemoteNetworksOf(const NodePlan& plan);

}  // namespace kuryr::binding
