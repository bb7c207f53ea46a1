#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/backends/backend.h"
#include "controller/backends/neutron/api/neutron_api.h"
#include "controller/backends/neutron/held/held_port.h"
#include "controller/backends/neutron/networks/networks.h"
#include "controller/backends/neutron/networks/scope_networks.h"
#include "controller/backends/neutron/ports/project_quota.h"
#include "controller/backends/neutron/settings/pod_defaults.h"
#include "controller/backends/neutron/stock/port_pools.h"
#include "controller/backends/neutron/stock/ready_ports.h"
#include "controller/backends/neutron/vifs/vif_driver.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller::neutron {

/// The task of one owner's ports, and its result.
struct PortWork {
  Owner owner;
  Scope scope;
  std::vector<IpAddress> node_addresses;
  std::vector<InterfaceRequest> interfaces;
  std::vector<HeldPort> ports;       ///< before and after
  std::vector<HeldPort> removed;     ///< ports of interfaces that the owner has no more
  std::vector<std::string> strange;  ///< told ports that are gone, or another owner's, by id
  std::vector<std::string> freed;    ///< those of `removed` that the owner has no more, by id
  /// Neutron may have ports of this owner that nobody here knows: of a controller before this one,
  /// or of a request without an answer.
  bool must_search = false;
  bool uncertain = false;  ///< what was not answered may yet come true
  std::optional<PlanError> error;
};

/// The requests that an owner's ports take. Each call may fail and be made again: what Neutron has
/// then is found. Keeps nothing of owners. Thread-safe for different owners.
class PortPlanner {
 public:
  /// Borrows the API.
  PortPlanner(NeutronApi& api, PodDefaults defaults, PoolHooks hooks)
      : api_(api),
        defaults_(std::move(defaults)),
        networks_(api),
        scopes_(api, defaults_),
        quota_(api, defaults_.project),
        driver_(MakeVifDriver(api, defaults_)),
        ready_(defaults_.pool),
        pools_(pool_means(), std::move(hooks)) {}

  /// A port with a VIF, which reaches the owner's node, for each interface, or an error. One
  /// request where one port is missing, and one where several are. A kRetry leaves what was made to
  /// the next call, every other error nothing that is not written.
  void Plan(PortWork& work);
  /// The owner holds all ports that Neutron has for it, and one alone for each interface.
  void Search(PortWork& work);
  /// Asks for each doubted port whether it is gone.
  void Verify(PortWork& work);
  /// The owner has none of the removed ports any more, or an error says so. Ports that a pool takes
  /// are ready then.
  void Free(PortWork& work);
  /// None of its ports is left, or an error says so. Those that a pool takes are ready then.
  void Release(PortWork& work);
  /// All owners of ports with the cluster's tags; none without tags. Throws NeutronError.
  [[nodiscard]] std::vector<Owner> Owners();
  /// Those of the ports that Neutron's list lacks. Throws NeutronError.
  [[nodiscard]] std::vector<std::string> Missing(std::vector<std::string> ids);

  /// All ports with the cluster's tags; none without tags. Throws NeutronError.
  [[nodiscard]] std::vector<ListedPort> ListPorts();
  /// PortLister::ListUnmarked; none without tags.
  [[nodiscard]] std::vector<ListedPort> ListUnmarked();
  void Remove(const std::string& port_id) { driver_->Delete(port_id); }
  /// Those of owners, whatever their tags: a port is made before it has any, and other clusters'
  /// are among them. Throws NeutronError.
  [[nodiscard]] std::vector<ListedPort> ListOwned();

  /// ScopeNetworks::SweepAll. Ready ports of scopes that are not there go, too.
  [[nodiscard]] bool SweepScopes(const std::function<bool(const std::string& scope_id)>& is_there);
  [[nodiscard]] bool has_tags() const noexcept { return !defaults_.tags.empty(); }
  [[nodiscard]] bool has_scope_networks() const noexcept { return defaults_.scope_subnets; }

  /// Whether the VIF is one of those that are planned.
  [[nodiscard]] bool Makes(const vif::Vif& vif) const { return driver_->Makes(vif); }

  [[nodiscard]] const PoolOptions& pool_options() const noexcept { return defaults_.pool; }
  /// The parts that a PoolFiller borrows.
  [[nodiscard]] PortPools::Means pool_means() {
    return {api_, defaults_, networks_, scopes_, *driver_, ready_};
  }

 private:
  struct Wanted {
    const InterfaceRequest& interface;
    PodNetwork network;
    std::vector<std::string> groups;
  };

  [[nodiscard]] std::vector<Port> PortsOf(const std::string& owner_id);
  /// The cluster's ports: those with its tags, and those whose mark says that tags are to come.
  /// None without tags.
  [[nodiscard]] std::vector<Port> ClustersPorts();
  /// Asks Neutron for each told port. A strange one is no port of the work any more.
  void Recognise(PortWork& work);
  /// False: the port is strange. A VIF that differs from the owner's port is made anew.
  [[nodiscard]] bool Confirm(PortWork& work, HeldPort& held);
  void FindAll(PortWork& work);
  void Find(PortWork& work, const Port& port);
  [[nodiscard]] std::vector<Wanted> MissingIn(const PortWork& work);
  void Create(PortWork& work);
  /// Takes from pools what they have for the missing interfaces.
  void Claim(PortWork& work, const std::vector<Wanted>& missing);
  void CreateAll(PortWork& work, const std::vector<Wanted>& missing);
  void Complete(PortWork& work);
  /// The port is held.
  void Join(PortWork& work, const Port& port, const PodNetwork& network);
  /// All are held before one of them turns out to be of no use.
  [[nodiscard]] std::vector<Port> CreateEach(PortWork& work,
                                             const std::vector<PortRequest>& requests);
  [[nodiscard]] std::vector<Port> CreateInBulk(PortWork& work, std::vector<PortRequest> requests);
  [[nodiscard]] PodNetwork NetworkFor(const PortWork& work, const InterfaceRequest& interface);
  /// Those that are not written are deleted.
  void Undo(PortWork& work);
  /// The ports that Neutron has for the owner now.
  [[nodiscard]] std::vector<Port> PortsToRelease(const PortWork& work);
  /// The held port as Neutron has it now; nullopt: it is gone, or another owner's.
  [[nodiscard]] std::optional<Port> FindHeld(const Owner& owner, const HeldPort& held);
  /// A written port that Neutron says nobody has: of a pool that was not ours.
  [[nodiscard]] bool IsLeft(const Port& port) const;

  NeutronApi& api_;
  const PodDefaults defaults_;
  Networks networks_;
  ScopeNetworks scopes_;
  ProjectQuota quota_;
  const std::unique_ptr<VifDriver> driver_;
  ReadyPorts ready_;
  PortPools pools_;
};

}  // namespace kuryr::controller::neutron
