#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/backends/backend.h"
#include "controller/backends/neutron/api/neutron_api.h"
#include "controller/backends/neutron/networks/networks.h"
#include "controller/backends/neutron/networks/scope_networks.h"
#include "controller/backends/neutron/settings/pod_defaults.h"
#include "controller/backends/neutron/stock/ready_ports.h"
#include "controller/backends/neutron/vifs/vif_driver.h"

namespace kuryr::controller::neutron {

/// A pool that has few ports left, and what a fill of it takes.
struct PoolNeed {
  PoolKey key;
  PodNode node;
  std::vector<std::string> subnets;  ///< as Networks::Find wants them
};

/// Whom PortPools tells. Called by many threads at a time.
struct PoolHooks {
  std::function<void(const PoolNeed& need)> want;
  /// A request without an answer: what is ready is to be listed again.
  std::function<void()> doubt;
};

/// Ports that are ready become pods', and ready again. A ready port is one of Kuryr's device_owner
/// that has no owner, and the name that Kuryr's own pools give theirs; a PUT with its revision
/// makes it a pod's, so that no two controllers give it to two pods. Keeps nothing but what is
/// ready. All calls throw NeutronError and PlanError. Thread-safe.
class PortPools {
 public:
  /// All borrowed.
  struct Means {
    NeutronApi& api;
    const PodDefaults& defaults;
    Networks& networks;
    ScopeNetworks& scopes;
    VifDriver& driver;
    ReadyPorts& ready;
  };

  PortPools(const Means& means, PoolHooks hooks) : means_(means), hooks_(std::move(hooks)) {}

  struct Wanted {
    const InterfaceRequest& interface;
    const PodNetwork& network;
    const std::vector<std::string>& groups;  ///< as GroupsFor
  };
  /// A port that is the owner's from now on; nothing where none is ready, and where the interface
  /// asks for an address or a MAC of its own.
  [[nodiscard]] std::optional<Port> Claim(const Owner& owner, const PodNode& node,
                                          const Wanted& wanted);
  /// Whether the port, an owner's until now, is a ready one again; false: it is to be deleted.
  [[nodiscard]] bool Return(const Port& port);
  /// Deletes ready ports that have the address or the MAC that the interface asks for.
  void Free(const InterfaceRequest& interface);
  /// After an error that says that nothing more can be made: ready ports are deleted for pods'
  /// sake. False: that would not help.
  [[nodiscard]] bool MakeRoom(const NeutronError& error, size_t count, const PodNetwork& network);

  /// Whether nobody has the port, as far as Neutron says: a ready one, or one of Kuryr's pools
  /// without port_debug, which has no name.
  [[nodiscard]] static bool IsFree(const VifDriver& driver, const PodDefaults& defaults,
                                   const Port& port);
  /// Whether it is a ready one.
  [[nodiscard]] static bool IsReady(const VifDriver& driver, const Port& port);
  /// Where the port is ready, or would be; nothing where it cannot be.
  [[nodiscard]] static std::optional<PoolKey> KeyOf(const Means& means, const Port& port);
  [[nodiscard]] static ReadyPort ReadyOf(const PodDefaults& defaults, const Port& port);

 private:
  [[nodiscard]] bool enabled() const { return means_.defaults.pool.enabled; }
  /// nullopt: another client was faster.
  [[nodiscard]] std::optional<Port> TryClaim(const PoolKey& key, const ReadyPort& ready,
                                             PortUpdate update);
  /// As it is now; nothing where it is not ready any more.
  [[nodiscard]] std::optional<Port> Look(const std::string& id);
  [[nodiscard]] PortUpdate ClaimOf(const Owner& owner, const std::string& ifname) const;
  [[nodiscard]] PortUpdate ReturnOf(const Port& port) const;

  const Means means_;
  const PoolHooks hooks_;
};

/// How long no pool is filled after Neutron has said that nothing more can be made.
inline constexpr std::chrono::seconds kFullRest{60};

}  // namespace kuryr::controller::neutron
