#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/backends/neutron/api/network.h"
#include "controller/backends/neutron/api/neutron_error.h"
#include "controller/backends/neutron/api/node_port.h"
#include "controller/backends/neutron/api/port.h"
#include "controller/backends/neutron/api/security_group.h"

namespace kuryr::controller::neutron {

/// Types of a NeutronError that callers compare.
inline constexpr const char* kSubPortExists = "DuplicateSubPort";
inline constexpr const char* kPortIsSubPort = "PortInUseAsSubPort";
inline constexpr const char* kNoSecurityGroup = "SecurityGroupNotFound";

/// OpenStack Networking v2.0, as far as pods need it. Every call blocks until it is answered or its
/// time is up, and throws NeutronError. Identifiers are UUIDs as Neutron writes them. Thread-safe.
class NeutronApi {
 public:
  NeutronApi() = default;
  NeutronApi(const NeutronApi&) = delete;
  NeutronApi& operator=(const NeutronApi&) = delete;
  virtual ~NeutronApi() = default;

  [[nodiscard]] virtual Network GetNetwork(const std::string& id) = 0;
  [[nodiscard]] virtual Subnet GetSubnet(const std::string& id) = 0;
  /// All of the network's, as Neutron orders them.
  [[nodiscard]] virtual std::vector<Subnet> ListSubnets(const std::string& network_id) = 0;

  /// All pages.
  [[nodiscard]] virtual std::vector<Network> ListNetworks(const NetworkFilter& filter) = 0;
  virtual Network CreateNetwork(const NetworkRequest& request) = 0;
  virtual void DescribeNetwork(const std::string& id, const std::string& description) = 0;
  /// These and no others.
  virtual void SetNetworkTags(const std::string& id, const std::vector<std::string>& tags) = 0;
  /// With its subnets; also when there is none (404). kConflict while a port is in it.
  virtual void DeleteNetwork(const std::string& id) = 0;
  [[nodiscard]] virtual SubnetPool GetSubnetPool(const std::string& id) = 0;
  /// kUnavailable also where the pool has no prefix left: Neutron's answer to that is a 500.
  virtual Subnet CreateSubnet(const SubnetRequest& request) = 0;
  /// These and no others.
  virtual void SetSubnetTags(const std::string& id, const std::vector<std::string>& tags) = 0;
  /// kBadRequest where it is the router's already, or its prefix overlaps another of the router's.
  virtual void AddRouterInterface(const std::string& router_id, const std::string& subnet_id) = 0;
  /// Also when it is none of the router's (404).
  virtual void RemoveRouterInterface(const std::string& router_id,
                                     const std::string& subnet_id) = 0;

  /// The port has the request's tags afterwards, whatever TagsAtCreation() says. If setting the
  /// tags failed, the port exists without them: the error is that of SetTags, and uncertain().
  virtual Port CreatePort(const PortRequest& request) = 0;
  /// One request for all: returns the ports in the same order, or throws and makes none. Tags are
  /// set as by CreatePort.
  virtual std::vector<Port> CreatePorts(const std::vector<PortRequest>& requests) = 0;
  /// Has Neutron bind the port to that host once more, also when it is the port's already: a
  /// binding that failed is tried again.
  virtual Port BindPort(const std::string& id, const std::string& host_id) = 0;
  virtual Port UpdatePort(const std::string& id, const PortUpdate& update) = 0;
  /// These and no others.
  virtual void SetTags(const std::string& id, const std::vector<std::string>& tags) = 0;
  /// Also when there is none (404).
  virtual void DeletePort(const std::string& id) = 0;

  [[nodiscard]] virtual Port GetPort(const std::string& id) = 0;
  /// All pages.
  [[nodiscard]] virtual std::vector<Port> ListPorts(const PortFilter& filter) = 0;
  /// Those of `ids` with status ACTIVE, in no order. One request for each 150 ids.
  [[nodiscard]] virtual std::vector<std::string> ActivePorts(
      const std::vector<std::string>& ids) = 0;
  /// Those of `ids` that exist, in no order. One request for each 150 ids. Requests that pods wait
  /// for go first.
  [[nodiscard]] virtual std::vector<std::string> ExistingPorts(
      const std::vector<std::string>& ids) = 0;

  /// All pages, of any project that the credentials see.
  [[nodiscard]] virtual std::vector<NodePort> ListNodePorts(const NodePortFilter& filter) = 0;
  /// kConflict of type kSubPortExists where the trunk has that VLAN already, and of other types
  /// where the port is in use.
  virtual void AddSubPort(const std::string& trunk_id, const SubPort& sub_port) = 0;
  /// Also when it is none of the trunk's, and when there is no such trunk (404).
  virtual void RemoveSubPort(const std::string& trunk_id, const std::string& port_id) = 0;
  /// These and no others. kPrecondition where the port's revision is another one by now.
  virtual void SetAddressPairs(const std::string& port_id, const std::vector<AddressPair>& pairs,
                               int64_t revision) = 0;

  /// All pages, with the groups' rules.
  [[nodiscard]] virtual std::vector<SecurityGroup> ListSecurityGroups(
      const SecurityGroupFilter& filter) = 0;
  virtual SecurityGroup CreateSecurityGroup(const SecurityGroupRequest& request) = 0;
  /// These and no others.
  virtual void SetSecurityGroupTags(const std::string& id,
                                    const std::vector<std::string>& tags) = 0;
  /// Also when there is none (404). kConflict while a port or a rule names it.
  virtual void DeleteSecurityGroup(const std::string& id) = 0;
  /// One request for all: returns the rules in the same order, or throws and makes none. kConflict
  /// where a group has such a rule already.
  virtual std::vector<ListedRule> CreateSecurityRules(
      const std::vector<SecurityRuleRequest>& requests) = 0;
  /// Also when there is none (404).
  virtual void DeleteSecurityRule(const std::string& id) = 0;

  /// How many ports the project may have, and has; the credentials' own where the id is empty.
  /// nullopt: neither the caller nor the token names a project.
  [[nodiscard]] virtual std::optional<PortQuota> GetPortQuota(const std::string& project_id) = 0;

  /// Whether Neutron takes tags with a port's creation (tag-ports-during-bulk-creation); without
  /// that extension it drops them in silence. Asked once.
  [[nodiscard]] virtual bool TagsAtCreation() = 0;
};

}  // namespace kuryr::controller::neutron
