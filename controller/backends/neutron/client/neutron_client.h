#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/api/neutron_api.h"
#include "controller/backends/neutron/client/caller.h"
#include "controller/backends/neutron/client/neutron_config.h"
#include "controller/backends/neutron/client/request_observer.h"

namespace kuryr::controller::neutron {

/// The most that all pages of one list may have.
struct ListLimits {
  size_t objects = 200'000;          ///< more than a cluster has
  size_t bytes = size_t{512} << 20;  ///< of the answers; less than fills the memory
};

/// Neutron over HTTP, with a token of Keystone's. A request waits for its turn, as [neutron]
/// max_requests and request_rate say, and then takes [neutron] timeout at most; one that Neutron
/// refuses with a 401 is made once more with a new token. Thread-safe. Programs that use it ignore
/// SIGPIPE.
class NeutronClient final : public NeutronApi {
 public:
  /// `observer`, which may be null, outlives it.
  NeutronClient(const NeutronConfig& config, RequestObserver* observer,
                const ListLimits& limits = {});

  [[nodiscard]] Network GetNetwork(const std::string& id) override;
  [[nodiscard]] Subnet GetSubnet(const std::string& id) override;
  [[nodiscard]] std::vector<Subnet> ListSubnets(const std::string& network_id) override;
  [[nodiscard]] std::vector<Network> ListNetworks(const NetworkFilter& filter) override;
  Network CreateNetwork(const NetworkRequest& request) override;
  void DescribeNetwork(const std::string& id, const std::string& description) override;
  void SetNetworkTags(const std::string& id, const std::vector<std::string>& tags) override;
  void DeleteNetwork(const std::string& id) override;
  [[nodiscard]] SubnetPool GetSubnetPool(const std::string& id) override;
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
  [[nodiscard]] Port GetPort(const std::string& id) override;
  [[nodiscard]] std::vector<Port> ListPorts(const PortFilter& filter) override;
  [[nodiscard]] std::vector<std::string> ActivePorts(const std::vector<std::string>& ids) override;
  [[nodiscard]] std::vector<std::string> ExistingPorts(
      const std::vector<std::string>& ids) override;
  [[nodiscard]] std::vector<NodePort> ListNodePorts(const NodePortFilter& filter) override;
  void AddSubPort(const std::string& trunk_id, const SubPort& sub_port) override;
  void RemoveSubPort(const std::string& trunk_id, const std::string& port_id) override;
  void SetAddressPairs(const std::string& port_id, const std::vector<AddressPair>& pairs,
                       int64_t revision) override;
  [[nodiscard]] std::vector<SecurityGroup> ListSecurityGroups(
      const SecurityGroupFilter& filter) override;
  SecurityGroup CreateSecurityGroup(const SecurityGroupRequest& request) override;
  void SetSecurityGroupTags(const std::string& id, const std::vector<std::string>& tags) override;
  void DeleteSecurityGroup(const std::string& id) override;
  std::vector<ListedRule> CreateSecurityRules(
      const std::vector<SecurityRuleRequest>& requests) override;
  void DeleteSecurityRule(const std::string& id) override;
  [[nodiscard]] std::optional<PortQuota> GetPortQuota(const std::string& project_id) override;
  [[nodiscard]] bool TagsAtCreation() override EXCLUDES(mutex_);

  /// For good: calls under way end at once with kUnavailable, as does every later one.
  void Stop() noexcept { caller_.Stop(); }

 private:
  /// `target` makes the target of a page behind a marker. Throws NeutronError kUnavailable for a
  /// list beyond the limits.
  template <typename Target, typename Decode>
  [[nodiscard]] auto AllPages(RequestKind kind, const std::string& collection, Target target,
                              Decode decode);
  /// `call` without its target, whose begin is `target`.
  [[nodiscard]] std::vector<std::string> IdsAmong(const std::vector<std::string>& ids, Call call,
                                                  const std::string& target);
  [[nodiscard]] nlohmann::json BodyOf(const PortRequest& request);
  void AddTags(Port& port, const PortRequest& request);
  void PutTags(RequestKind kind, const std::string& thing, const std::string& id,
               const std::vector<std::string>& tags);
  void Delete(Call call, const std::string& id);

  Caller caller_;
  const ListLimits limits_;
  Mutex mutex_;
  std::optional<bool> tags_at_creation_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller::neutron
