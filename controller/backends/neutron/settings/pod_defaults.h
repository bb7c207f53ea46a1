#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/config_file.h"
#include "controller/backends/neutron/settings/pool_options.h"

namespace kuryr::controller::neutron {

/// [kubernetes] pod_vif_driver: how ports reach their pods.
enum class PodVifDriver {
  kNeutronVif,     ///< nodes are hosts of Neutron's
  kNestedVlan,     ///< nodes are virtual machines with a trunk
  kNestedMacvlan,  ///< nodes are virtual machines that send from their pods' addresses
};

/// [pool:NAME] with a `subnet`: subnets that definitions call by that name.
struct NamedSubnets {
  std::vector<std::string> ids;
  std::vector<std::string> namespaces;  ///< their pods are in these subnets by default
  bool all_namespaces = false;          ///< pods of all may name these

  bool operator==(const NamedSubnets&) const = default;
};

/// Which ports pods get, as kuryr.conf says: [neutron_defaults], pod_vif_driver, [pod_vif_nested],
/// [vif_pool], and of [vhostuser] the folder that pods mount. docs/neutron.md has the table.
struct PodDefaults {
  std::string project;                        ///< the ports'; the credentials' own when empty
  std::vector<std::string> subnets;           ///< of every pod; of one network
  std::map<std::string, NamedSubnets> pools;  ///< by their names
  std::vector<std::string> more_subnets;      ///< that pods may name beside them
  bool any_subnet = false;                    ///< they may name any
  bool scope_subnets = false;                 ///< each namespace has its own, instead of `subnets`
  std::vector<std::string> subnet_pools;      ///< that those are of; one of each family
  std::string router;                         ///< that those are connected by
  std::vector<std::string> security_groups;   ///< none: the project's group "default"
  std::vector<std::string> more_groups;       ///< that annotations may name beside them
  bool any_group = false;                     ///< a namespace's annotation may name any
  std::vector<std::string> node_groups;       ///< of nodes' management ports; none: as pods
  bool enforces_policies = false;             ///< pod_security_groups_driver = policy
  std::vector<std::string> tags;              ///< of each port; objects with them are the cluster's
  std::chrono::seconds orphan_interval{300};  ///< of looks for orphans' ports; 0: none
  std::map<std::string, std::string> hosts;   ///< binding:host_id by node's name
  std::string bridge = "br-int";              ///< where Neutron names none
  std::string vhostuser_folder = "/var/cni/vhostuser";
  PodVifDriver driver = PodVifDriver::kNeutronVif;
  std::vector<std::string> worker_subnets;  ///< of the virtual machines that are nodes
  uint32_t update_attempts = 3;             ///< to change a node's port despite other clients
  PoolOptions pool;

  /// Whether anything follows from an owner's scope.
  [[nodiscard]] bool asks_for_scopes() const {
    return scope_subnets || any_group || !more_groups.empty();
  }

  /// Whether pods' nodes are virtual machines, found by their address.
  [[nodiscard]] bool is_nested() const { return driver != PodVifDriver::kNeutronVif; }

  /// The node's name in Neutron.
  [[nodiscard]] std::string HostOf(const std::string& node) const {
    const auto host = hosts.find(node);
    return host == hosts.end() ? node : host->second;
  }
};

/// Throws ConfigError.
[[nodiscard]] PodDefaults ReadPodDefaults(const ConfigFiles& files);

/// The description of an object until it has its tags: it names the cluster's tags. Empty without
/// tags.
[[nodiscard]] std::string MarkOf(const PodDefaults& defaults);

}  // namespace kuryr::controller::neutron
