#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/api/neutron_api.h"

namespace kuryr::controller::neutron {

/// A Neutron in memory. It has one network with subnets kSubnet4 and kSubnet6, a subnet pool of
/// each family, and a router. It answers as a real one does in the captures; faults are added on
/// request. Thread-safe.
class FakeNeutron : public NeutronApi {
 public:
  static constexpr const char* kNetwork = "66b5ab1d-8be8-4059-9a41-79cd1135b9f8";
  static constexpr const char* kSubnet4 = "a26eeeca-dce2-416d-a18e-748a37d60d23";
  static constexpr const char* kSubnet6 = "61ed89fe-1cbc-4c74-966b-afad38aeed29";
  static constexpr const char* kOtherSubnet = "0df8d7dc-92f4-462b-9709-aa1d3c71336c";
  /// The subnet of the nodes that AddNode makes.
  static constexpr const char* kNodeSubnet = "e9bd17c5-0c57-43f5-b85e-3a1a1b53c62f";

  static constexpr const char* kPool4 = "3f2a6dd0-9a4f-4c35-8d0e-5a8f6f4f2c11";
  static constexpr const char* kPool6 = "8c1b5f4e-5e0b-4a53-a7c0-1a9d50b1e7aa";
  static constexpr const char* kRouter = "ca04b385-c154-47f2-97fa-71c3bac760e7";

  FakeNeutron();

  /// How a call fails. `done`: it is carried out, but its answer is lost.
  struct Fault {
    NeutronError::Kind kind = NeutronError::Kind::kUnavailable;
    bool done = false;
    std::optional<std::chrono::seconds> retry_after;
  };
  /// The next call of that name ("CreatePort") fails; each of several faults hits one call.
  void Fail(const std::string& call, const Fault& fault) EXCLUDES(mutex_);
  /// Calls of that name wait until LetGo, before they do anything.
  void Hold(const std::string& call) EXCLUDES(mutex_);
  void LetGo() EXCLUDES(mutex_);
  /// Waits until a call of that name is held. False after 30 s.
  [[nodiscard]] bool WaitForHeld() EXCLUDES(mutex_);

  void KillHost(const std::string& host) EXCLUDES(mutex_);
  void ReviveHost(const std::string& host) EXCLUDES(mutex_);
  void SetQuota(size_t ports) EXCLUDES(mutex_);
  void SetTagsAtCreation(bool taken) EXCLUDES(mutex_);
  /// kSubnet6 uses SLAAC from now on: each port of the network gets an address of it.
  void SetSlaac() EXCLUDES(mutex_);
  void SetActive(const std::string& id, bool active = true) EXCLUDES(mutex_);
  void SetAllActive() EXCLUDES(mutex_);
  /// Adds a virtual machine's port with that address; without a trunk if `trunk` is empty.
  NodePort AddNode(const std::string& address, const std::string& trunk) EXCLUDES(mutex_);
  /// Changes the node's port as another client does.
  void ChangeNode(const std::string& id, const std::function<void(NodePort&)>& change)
      EXCLUDES(mutex_);
  [[nodiscard]] NodePort Node(const std::string& id) const EXCLUDES(mutex_);
  void Change(const std::string& id, const std::function<void(Port&)>& change) EXCLUDES(mutex_);
  /// Deletes the port as another client does.
  void Erase(const std::string& id) EXCLUDES(mutex_);
  /// Hides the port from the lists that ask whether a port exists.
  void HideFromLists(const std::string& id) EXCLUDES(mutex_);
  /// Limits the further subnets of the subnet pools; after them, the answer is 500, as Neutron's.
  void SetPrefixes(size_t left) EXCLUDES(mutex_);
  [[nodiscard]] std::vector<Network> networks() const EXCLUDES(mutex_);
  [[nodiscard]] std::vector<Subnet> SubnetsOf(const std::string& network) const EXCLUDES(mutex_);
  void ChangeNetwork(const std::string& id, const std::function<void(Network&)>& change)
      EXCLUDES(mutex_);
  /// Waits until there are `count` networks. False after 30 s.
  [[nodiscard]] bool WaitForNetworks(size_t count) EXCLUDES(mutex_);

  /// A rule that new groups have from now on, beside those of egress.
  void SetDefaultRule(const SecurityRule& rule) EXCLUDES(mutex_);
  /// Limits the security groups, and the rules of all of them.
  void SetGroupQuota(size_t groups, size_t rules) EXCLUDES(mutex_);
  [[nodiscard]] std::vector<SecurityGroup> groups() const EXCLUDES(mutex_);
  /// Waits until the condition is true of the groups after a call. False after 30 s.
  [[nodiscard]] bool WaitUntilGroups(
      const std::function<bool(const std::vector<SecurityGroup>&)>& condition) EXCLUDES(mutex_);

  /// Makes a port as another client does.
  Port Add(const PortRequest& request) EXCLUDES(mutex_);

  [[nodiscard]] std::vector<Port> ports() const EXCLUDES(mutex_);
  /// The number of calls of that name.
  [[nodiscard]] size_t CountOf(const std::string& call) const EXCLUDES(mutex_);
  /// Waits until the condition is true after a call. False after 30 s.
  [[nodiscard]] bool WaitUntil(const std::function<bool(const std::vector<Port>&)>& condition)
      EXCLUDES(mutex_);
  /// Waits for `count` calls of that name.
  [[nodiscard]] bool WaitForCount(const std::string& call, size_t count) EXCLUDES(mutex_);

  Network GetNetwork(const std::string& id) override;
  Subnet GetSubnet(const std::string& id) override;
  std::vector<Subnet> ListSubnets(const std::string& network_id) override;
  std::vector<Network> ListNetworks(const NetworkFilter& filter) override;
  Network CreateNetwork(const NetworkRequest& request) override;
  void DescribeNetwork(const std::string& id, const std::string& description) override;
  void SetNetworkTags(const std::string& id, const std::vector<std::string>& tags) override;
  void DeleteNetwork(const std::string& id) override;
  SubnetPool GetSubnetPool(const std::string& id) override;
  Subnet CreateSubnet(const SubnetRequest& request) override;
  void SetSubnetTags(const std::string& id, const std::vector<std::string>& tags) override;
  void AddRouterInterface(const std::string& router_id, const std::string& subnet_id) override;
  void RemoveRouterInterface(const std::string& router_id, const std::string& subnet_id) override;
  Port CreatePort(const PortRequest& request) override;
  std::vector<Port> CreatePorts(const std::vector<PortRequest>& requests) override;
  Port BindPort(const std::string& id, const std::string& host_id) override;
  Port UpdatePort(const std::string& id, const PortUpdate& update) override;
  void SetTags(const std::string& id, const std::vector<std::string>& tags) override;
  void DeletePort(const std::string& id) override;
  Port GetPort(const std::string& id) override;
  std::vector<Port> ListPorts(const PortFilter& filter) override;
  std::vector<std::string> ActivePorts(const std::vector<std::string>& ids) override;
  std::vector<std::string> ExistingPorts(const std::vector<std::string>& ids) override;
  std::vector<NodePort> ListNodePorts(const NodePortFilter& filter) override;
  void AddSubPort(const std::string& trunk_id, const SubPort& sub_port) override;
  void RemoveSubPort(const std::string& trunk_id, const std::string& port_id) override;
  void SetAddressPairs(const std::string& port_id, const std::vector<AddressPair>& pairs,
                       int64_t revision) override;
  std::vector<SecurityGroup> ListSecurityGroups(const SecurityGroupFilter& filter) override;
  SecurityGroup CreateSecurityGroup(const SecurityGroupRequest& request) override;
  void SetSecurityGroupTags(const std::string& id, const std::vector<std::string>& tags) override;
  void DeleteSecurityGroup(const std::string& id) override;
  std::vector<ListedRule> CreateSecurityRules(
      const std::vector<SecurityRuleRequest>& requests) override;
  void DeleteSecurityRule(const std::string& id) override;
  std::optional<PortQuota> GetPortQuota(const std::string& project_id) override;
  bool TagsAtCreation() override;

 private:
  /// Counts and holds the call, and carries it out unless it fails.
  template <typename Act>
  auto Call(const std::string& name, const Act& act) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const std::optional<Fault> fault = Begin(name);
    changed_.notify_all();
    if (!fault) return act();
    if (fault->done) (void)act();
    ThrowFault(name, *fault);
  }
  [[nodiscard]] std::optional<Fault> Begin(const std::string& name) REQUIRES(mutex_);
  [[noreturn]] static void Refuse(NeutronError::Kind kind, int status, const std::string& type,
                                  const std::string& message);
  [[noreturn]] static void ThrowFault(const std::string& call, const Fault& fault);
  Port Make(const PortRequest& request) REQUIRES(mutex_);
  void Bind(Port& port) const REQUIRES(mutex_);
  Port& At(const std::string& id) REQUIRES(mutex_);
  NodePort& TrunkAt(const std::string& trunk_id) REQUIRES(mutex_);
  /// The id of the trunk that has the port; empty if none has it.
  [[nodiscard]] std::string TrunkOf(const std::string& port_id) const REQUIRES(mutex_);
  IpAddress Choose(const FixedIpRequest& wanted) REQUIRES(mutex_);
  /// Adds an address of each SLAAC subnet of the network, asked for or not.
  void AddUnasked(Port& port) REQUIRES(mutex_);
  SecurityGroup& GroupAt(const std::string& id) REQUIRES(mutex_);
  void RequireGroups(const std::vector<std::string>& ids) REQUIRES(mutex_);
  ListedRule AddRule(SecurityGroup& group, const SecurityRule& rule) REQUIRES(mutex_);
  [[nodiscard]] std::vector<SecurityGroup> AllGroups() const REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Subnet> subnets_ GUARDED_BY(mutex_);
  std::map<std::string, Network> networks_ GUARDED_BY(mutex_);  ///< networks that were created
  size_t prefixes_ GUARDED_BY(mutex_) = 100;
  std::map<std::string, Port> ports_ GUARDED_BY(mutex_);
  std::map<std::string, NodePort> nodes_ GUARDED_BY(mutex_);  ///< ports that ports() leaves out
  std::map<std::string, std::list<Fault>> faults_ GUARDED_BY(mutex_);
  std::map<std::string, size_t> counts_ GUARDED_BY(mutex_);
  std::set<std::string> dead_hosts_ GUARDED_BY(mutex_);
  std::set<std::string> hidden_ GUARDED_BY(mutex_);
  std::string held_ GUARDED_BY(mutex_);
  size_t holding_ GUARDED_BY(mutex_) = 0;
  size_t quota_ GUARDED_BY(mutex_) = 1000;
  std::map<std::string, SecurityGroup> groups_ GUARDED_BY(mutex_);
  std::optional<SecurityRule> default_rule_ GUARDED_BY(mutex_);
  size_t group_quota_ GUARDED_BY(mutex_) = 1000;
  size_t rule_quota_ GUARDED_BY(mutex_) = 10000;
  bool tags_at_creation_ GUARDED_BY(mutex_) = true;
  uint32_t made_ GUARDED_BY(mutex_) = 0;
};

}  // namespace kuryr::controller::neutron
