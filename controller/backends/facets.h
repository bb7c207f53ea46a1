#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "controller/plan/plan_request.h"
#include "controller/plan/service.h"
#include "policy/compiled_policy.h"
#include "service/metrics_text.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// Abilities that some backends have beside those of Backend. Each is an interface of its own, and
/// thread-safe.

/// A backend that gives addresses from its own stock, and gives none twice. Heed and Keep throw
/// PlanError.
class AddressKeeper {
 public:
  virtual ~AddressKeeper() = default;

  /// Why Reserve would never give this VIF to the owner, although Backend::Owns says yes: a user
  /// who may write plans may have made it up. nullopt: Reserve could give it.
  [[nodiscard]] virtual std::optional<std::string> WhyNeverGiven(const Owner& owner,
                                                                 const vif::PodVif& vif) const = 0;

  /// Another producer has planned these VIFs for the owner; they replace those of an earlier call.
  /// Their addresses are kept from other owners in networks that the owner's scope may use. This
  /// backend's own plans and claims go before them. PlanError kRefused as Backend::Adopt's.
  virtual void Heed(const Owner& owner, const std::vector<vif::PodVif>& vifs) = 0;

  /// Addresses that the owner may have beside its plan.
  struct Beside {
    std::vector<IpAddress> there;   ///< its node tells of them
    std::vector<IpAddress> former;  ///< earlier plans had them, as its object says

    [[nodiscard]] bool empty() const noexcept { return there.empty() && former.empty(); }
  };
  /// Keeps the addresses from other owners until Release, even where another owner has them. It
  /// keeps `former` only in networks that the owner's scope may use.
  virtual void KeepBeside(const Owner& owner, const Beside& beside) = 0;

  /// The claim, an owner without interfaces, keeps these addresses until Release. Only an interface
  /// that names the claim gets them, one at a time. PlanError kRefused names an address that the
  /// claim's scope may not use, or that an owner of another scope has; the claim keeps the rest.
  virtual void Keep(const Owner& claim, const std::vector<IpAddress>& addresses) = 0;

  /// Other owners that have an address, a MAC or a VLAN of these VIFs. Reserve has other VIFs for
  /// one of the owners (PlanRequest::anew).
  [[nodiscard]] virtual std::vector<Owner> Rivals(const Owner& owner,
                                                  const std::vector<vif::PodVif>& vifs) const = 0;
};

/// A backend that frees what single interfaces of an owner had.
class InterfaceReleaser {
 public:
  virtual ~InterfaceReleaser() = default;

  /// The owner now has only these VIFs: frees its others, after a rest.
  virtual void ReleaseBut(const Owner& owner, const std::vector<vif::PodVif>& vifs) = 0;
};

/// A backend that makes something for each scope.
class ScopeUser {
 public:
  virtual ~ScopeUser() = default;

  /// Removes the things of scopes that have ended. The caller knows all scopes.
  virtual void SweepScopes() = 0;
};

/// A backend whose VIFs another program can take away.
class LossReporter {
 public:
  virtual ~LossReporter() = default;

  /// Names, for the owner's user, the active VIFs of the owner that are gone, and why. The backend
  /// wakes the owner when the answer changes. Reserve replaces VIFs that are not active.
  [[nodiscard]] virtual std::optional<std::string> FindLost(const Owner& owner) const = 0;
};

/// A backend that connects pods with Services itself, in place of kube-proxy.
class ServiceBalancer {
 public:
  virtual ~ServiceBalancer() = default;

  /// Balances the Service NAMESPACE/NAME in this form from now on. A Service without cluster IPs is
  /// not balanced.
  virtual void Balance(const std::string& name, const Service& service) = 0;
  /// The node is in that zone from now on; empty: in none, or it is gone.
  virtual void SetZone(const std::string& node, const std::string& zone) = 0;
  /// Why the Service NAMESPACE/NAME is not balanced as its last Balance wants, by field, and what
  /// helps; nullopt: it is.
  [[nodiscard]] virtual std::optional<std::string> WhyNotBalanced(
      const std::string& name) const = 0;
};

/// A backend that enforces NetworkPolicies on interface eth0 of its owners, and
/// MultiNetworkPolicies on the others.
class PolicyEnforcer {
 public:
  virtual ~PolicyEnforcer() = default;

  /// Applies the changes; the first call has all policies and pods. A pod's sets come before its
  /// first Reserve, so it is isolated before its first packet.
  virtual void Enforce(const policy::PolicyChanges& changes) = 0;
  /// Why a part of the policy NAMESPACE/NAME is not enforced; nullopt: nothing was refused. The
  /// backend calls BackendHooks::wake_policy when something is.
  [[nodiscard]] virtual std::optional<std::string> FindRefusal(const std::string& /*name*/) const {
    return std::nullopt;
  }
  /// Why no policy holds on interface eth0 of the owner, which has a plan; nullopt: policies do.
  [[nodiscard]] virtual std::optional<std::string> WhyNoneHolds(const std::string& /*id*/) const {
    return std::nullopt;
  }
};

/// A backend whose server several clusters may share.
class ServerSharer {
 public:
  virtual ~ServerSharer() = default;

  /// The cluster's identity, the UID of its namespace kube-system. Comes before the first plan.
  /// The backend then changes nothing at a server where another cluster has this cluster's name,
  /// and Reserve throws PlanError kRetry.
  virtual void SetClusterUid(const std::string& uid) = 0;
};

/// A node, and which machine it is.
struct MachineOfNode {
  std::string name;
  std::string machine;  ///< status.nodeInfo.machineID, which a reinstallation changes; may be empty
  std::vector<IpAddress> addresses;  ///< its InternalIPs
};

/// A backend whose network knows nodes by itself, and keeps them when their machines are gone.
class ChassisKeeper {
 public:
  virtual ~ChassisKeeper() = default;

  /// The cluster has the node in this form. All nodes are set before Backend::EndAdoption.
  virtual void SetNode(const MachineOfNode& node) = 0;
  virtual void RemoveNode(const std::string& name) = 0;
  /// Why pods of the node have no network; nullopt: nothing is known. The backend wakes the node
  /// when the answer changes.
  [[nodiscard]] virtual std::optional<std::string> FindProblem(const std::string& node) const = 0;
};

/// A packet of one pod's interface to another pod's.
struct TracedPacket {
  vif::VifBase from;
  vif::VifBase to;
  std::string protocol;  ///< "tcp", "udp" or "sctp"; empty: a ping
  uint16_t port = 0;     ///< of `to`, with a protocol
};

struct PacketFate {
  bool arrives = false;
  std::string where;  ///< the last stage of the network that looked at the packet
};

/// A backend that knows what its network does with a packet.
class PacketTracer {
 public:
  virtual ~PacketTracer() = default;

  /// Throws std::runtime_error, with the reason, if that cannot be found out.
  [[nodiscard]] virtual PacketFate Trace(const TracedPacket& packet) const = 0;
};

/// A backend that has figures for Prometheus.
class MetricsReporter {
 public:
  virtual ~MetricsReporter() = default;

  virtual void WriteTo(service::MetricsText& text) const = 0;
};

/// A port at the backend's server that has this cluster's marks.
struct ListedPort {
  std::string id;
  std::string name;
  std::string owner_id;  ///< empty: the server names no owner
  bool spare = false;    ///< made ahead, for any pod at `place`
  std::string place;     ///< empty: the backend gives no spare ports to pods
};

/// A backend with ports at a server, which knows their owners.
class PortLister {
 public:
  virtual ~PortLister() = default;

  /// Throws what the server's client throws.
  [[nodiscard]] virtual std::vector<ListedPort> ListPorts() const = 0;
  /// Ports that an earlier release made ahead, without this cluster's marks, at places of this
  /// cluster's pods. No backend uses them. Throws what the server's client throws.
  [[nodiscard]] virtual std::vector<ListedPort> ListUnmarked() const = 0;
  /// Deletes one that ListUnmarked returned. Throws what the server's client throws.
  virtual void RemoveUnmarked(const std::string& port_id) = 0;
  /// Whether an adopted plan names the port, or an owner has it.
  [[nodiscard]] virtual bool IsHeld(const std::string& port_id) const = 0;
  /// Why ListPorts cannot recognise this cluster's ports; nullopt: it can.
  [[nodiscard]] virtual std::optional<std::string> WhyNotListed() const = 0;
};

/// The abilities of one backend; null where it lacks one. They live as long as the backend.
struct Facets {
  AddressKeeper* addresses = nullptr;
  InterfaceReleaser* interfaces = nullptr;
  ScopeUser* scopes = nullptr;
  LossReporter* losses = nullptr;
  MetricsReporter* metrics = nullptr;
  PortLister* ports = nullptr;
  ServiceBalancer* services = nullptr;
  PolicyEnforcer* policies = nullptr;
  ServerSharer* sharer = nullptr;
  ChassisKeeper* chassis = nullptr;
  const PacketTracer* tracer = nullptr;
};

}  // namespace kuryr::controller
