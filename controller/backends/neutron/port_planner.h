#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/backends/backend.h"
#include "controller/backends/neutron/api/neutron_api.h"
#include "controller/backends/neutron/cluster_ports.h"
#include "controller/backends/neutron/held/held_port.h"
#include "controller/backends/neutron/networks/networks.h"
#include "controller/backends/neutron/networks/scope_networks.h"
#include "controller/backends/neutron/ports/project_quota.h"
#include "controller/backends/neutron/security/isolation.h"
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
  std::vector<HeldPort> removed;     ///< ports of interfaces that the owner no longer has
  std::vector<std::string> strange;  ///< ids of told ports that are gone or another owner's
  std::vector<std::string> freed;    ///< ids of `removed` ports that are freed
  /// Neutron may have unknown ports of this owner: of an earlier controller, or of a request
  /// without an answer.
  bool must_search = false;
  bool uncertain = false;  ///< Neutron may still carry out a request without an answer
  std::optional<PlanError> error;
};

/// The port as policies know it. The interface's name is Neutron's where it has one, because a user
/// may have written the plan.
[[nodiscard]] PolicedPort PolicedPortOf(const HeldPort& held);

/// Makes, finds and frees an owner's ports. Each call may fail and be repeated: it then finds the
/// ports that Neutron has. Keeps nothing of owners. Thread-safe for different owners.
class PortPlanner {
 public:
  /// Borrows all but the hooks. `isolation`: null where no policy is enforced.
  PortPlanner(NeutronApi& api, const PodDefaults& defaults, PoolHooks hooks, Isolation* isolation)
      : api_(api),
        defaults_(defaults),
        isolation_(isolation),
        networks_(api),
        scopes_(api, defaults_),
        quota_(api, defaults_.project),
        driver_(MakeVifDriver(api, defaults_)),
        ready_(defaults_.pool),
        pools_(pool_means(), std::move(hooks)) {}

  /// Gives each interface a port with a VIF that reaches the owner's node, or sets an error. All
  /// missing ports take one request. After kRetry, the next call finds the ports that were made.
  /// Every other error deletes the ports that are not written.
  void Plan(PortWork& work);
  /// Finds all ports that Neutron has for the owner, and keeps one for each interface.
  void Search(PortWork& work);
  /// Gives each port the security groups of its policies, or sets an error.
  void Regroup(PortWork& work);
  /// Asks for each doubted port whether it is gone.
  void Verify(PortWork& work);
  /// Frees the removed ports, or sets an error. A pool may take them as ready ports.
  void Free(PortWork& work);
  /// Frees all ports of the owner, or sets an error. A pool may take them as ready ports.
  void Release(PortWork& work);
  /// Returns the ids that Neutron's list lacks. Throws NeutronError.
  [[nodiscard]] std::vector<std::string> Missing(std::vector<std::string> ids);

  [[nodiscard]] ClusterPorts cluster_ports() { return ClusterPorts(pool_means()); }
  void Remove(const std::string& port_id) { driver_->Delete(port_id); }

  /// ScopeNetworks::SweepAll. It also deletes ready ports of scopes that are gone.
  [[nodiscard]] bool SweepScopes(const std::function<bool(const std::string& scope_id)>& is_there);
  [[nodiscard]] bool has_tags() const noexcept { return !defaults_.tags.empty(); }
  [[nodiscard]] bool has_scope_networks() const noexcept { return defaults_.scope_subnets; }

  /// Whether Plan makes such VIFs.
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
  /// Asks Neutron for each told port. Moves a port that is not the owner's to `strange`.
  void Recognise(PortWork& work);
  /// False: the port is strange. A VIF that differs from the owner's port is made anew.
  [[nodiscard]] bool Confirm(PortWork& work, HeldPort& held);
  void FindAll(PortWork& work);
  void Find(PortWork& work, const Port& port);
  [[nodiscard]] std::vector<Wanted> MissingIn(const PortWork& work);
  [[nodiscard]] std::vector<std::string> ChooseGroups(const PortWork& work,
                                                      const InterfaceRequest& interface,
                                                      const PodNetwork& network);
  /// Throws the first NeutronError.
  void CorrectGroups(PortWork& work);
  void CorrectGroups(const Owner& owner, HeldPort& held);
  void Create(PortWork& work);
  /// Takes ready ports for the missing interfaces.
  void Claim(PortWork& work, const std::vector<Wanted>& missing);
  void CreateAll(PortWork& work, const std::vector<Wanted>& missing);
  void Complete(PortWork& work);
  /// Adds the port to the work.
  void Join(PortWork& work, const Port& port, const PodNetwork& network);
  /// Adds all ports to the work before it checks them.
  [[nodiscard]] std::vector<Port> CreateEach(PortWork& work,
                                             const std::vector<PortRequest>& requests);
  [[nodiscard]] std::vector<Port> CreateInBulk(PortWork& work, std::vector<PortRequest> requests);
  [[nodiscard]] PodNetwork NetworkFor(const PortWork& work, const InterfaceRequest& interface);
  /// Deletes the ports that are not written.
  void Undo(PortWork& work);
  /// The ports that Neutron has for the owner now.
  [[nodiscard]] std::vector<Port> PortsToRelease(const PortWork& work);
  /// The held port as Neutron has it now; nullopt: it is gone, or another owner's.
  [[nodiscard]] std::optional<Port> FindHeld(const Owner& owner, const HeldPort& held);
  /// Whether a written port has no owner in Neutron: it is of another program's pool.
  [[nodiscard]] bool IsLeft(const Port& port) const;

  NeutronApi& api_;
  const PodDefaults& defaults_;
  Isolation* const isolation_;
  Networks networks_;
  ScopeNetworks scopes_;
  ProjectQuota quota_;
  const std::unique_ptr<VifDriver> driver_;
  ReadyPorts ready_;
  PortPools pools_;
};

}  // namespace kuryr::controller::neutron
