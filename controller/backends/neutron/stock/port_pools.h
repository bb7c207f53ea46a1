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

/// A pool that has few ports left, and the facts that a fill needs.
struct PoolNeed {
  PoolKey key;
  PodNode node;
  std::vector<std::string> subnets;  ///< as Networks::Find wants them
};

/// PortPools calls these, from many threads at a time.
struct PoolHooks {
  std::function<void(const PoolNeed& need)> want;
  /// A request had no answer: the ready ports must be listed again.
  std::function<void()> doubt;
};

/// Gives ready ports to pods, and makes released ports ready again. A ready port has Kuryr's
/// device_owner, no owner, and the name that Kuryr's own pools give. A PUT with the port's revision
/// gives it to a pod, so no two controllers give it to two pods. Knows only ready ports. All calls
/// throw NeutronError and PlanError. Thread-safe.
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
  /// Gives a ready port to the owner. nullopt: none is ready, or the interface asks for an address
  /// or a MAC.
  [[nodiscard]] std::optional<Port> Claim(const Owner& owner, const PodNode& node,
                                          const Wanted& wanted);
  /// Makes an owner's port ready again. False: the caller must delete it.
  [[nodiscard]] bool Return(const Port& port);
  /// Deletes ready ports that have the address or the MAC that the interface asks for.
  void Free(const InterfaceRequest& interface);
  /// Deletes ready ports for waiting pods, after an error that says that Neutron can make no more.
  /// False: that would not help.
  [[nodiscard]] bool MakeRoom(const NeutronError& error, size_t count, const PodNetwork& network);

  /// Whether Neutron names no owner of the port: it is ready, or is a nameless one of Kuryr's pools
  /// without port_debug.
  [[nodiscard]] static bool IsFree(const VifDriver& driver, const PodDefaults& defaults,
                                   const Port& port);
  /// Whether the port is ready.
  [[nodiscard]] static bool IsReady(const VifDriver& driver, const Port& port);
  /// The pool of a port, whether it is ready or an owner's; nullopt: no pool can have it.
  [[nodiscard]] static std::optional<PoolKey> KeyOf(const Means& means, const Port& port);
  [[nodiscard]] static ReadyPort ReadyOf(const PodDefaults& defaults, const Port& port);

 private:
  [[nodiscard]] bool enabled() const { return means_.defaults.pool.enabled; }
  /// nullopt: another client was faster.
  [[nodiscard]] std::optional<Port> TryClaim(const PoolKey& key, const ReadyPort& ready,
                                             PortUpdate update);
  /// The port as Neutron has it now; nullopt: it is no longer ready.
  [[nodiscard]] std::optional<Port> Look(const std::string& id);
  [[nodiscard]] PortUpdate ClaimOf(const Owner& owner, const std::string& ifname) const;
  [[nodiscard]] PortUpdate ReturnOf(const Port& port) const;

  const Means means_;
  const PoolHooks hooks_;
};

/// The time without fills after Neutron has said that it can make no more ports.
inline constexpr std::chrono::seconds kFullRest{60};

}  // namespace kuryr::controller::neutron
