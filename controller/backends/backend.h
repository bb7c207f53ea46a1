#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// Whose VIFs they are.
struct Owner {
  std::string id;     ///< of one life, never used again (a pod's UID)
  std::string scope;  ///< what it belongs to, and what it may use (a namespace)
  std::string name;   ///< within its scope: for messages, names and tags
  std::string node;   ///< the host that plugs its VIFs

  bool operator==(const Owner&) const = default;
};

/// One interface that is to be planned.
struct InterfaceRequest {
  std::string ifname;  ///< inside the pod
  bool is_default = false;
  std::string network;  ///< which one, by the backend's name for it; empty: the backend chooses
  std::vector<IpAddress> addresses;          ///< these and no others; empty: any
  std::optional<MacAddress> mac;             ///< this one; nothing: the backend chooses
  std::optional<Owner> claim;                ///< whose kept addresses it may have
  std::vector<std::string> security_groups;  ///< by the backend's ids; empty: its scope's

  /// What it gets is not the backend's choice alone.
  [[nodiscard]] bool HasWishes() const noexcept { return !addresses.empty() || mac || claim; }
  bool operator==(const InterfaceRequest&) const = default;
};

/// What stands of an owner's scope, where the backend asks for it.
struct Scope {
  std::string id;  ///< of one life (a namespace's UID); empty: it is not asked for
  std::vector<std::string> security_groups;  ///< its owners'; empty: the backend chooses

  bool operator==(const Scope&) const = default;
};

struct PlanRequest {
  Owner owner;
  Scope scope;
  std::map<std::string, std::string> labels;  ///< what a backend may choose a network by
  std::vector<IpNetwork> node_networks;       ///< those that the owner's node has of its own
  std::vector<IpAddress> node_addresses;      ///< the node's own, where the backend needs them
  std::vector<InterfaceRequest> interfaces;   ///< one of them is the default
  bool anew = false;  ///< others than those of which another owner has something
};

/// Why a backend has no VIFs for an owner. what() is for the owner's user: it names the network.
class BackendError : public std::runtime_error {
 public:
  enum class Kind {
    kRetry,      ///< the backend does not answer, or asks for patience
    kExhausted,  ///< nothing is free; a release may help
    kRefused,    ///< the request is not allowed or cannot be met; another request may help
    kGone,       ///< what the request names is not there
  };

  BackendError(Kind kind, const std::string& message,
               std::optional<std::chrono::milliseconds> retry_after = std::nullopt)
      : std::runtime_error(message), kind_(kind), retry_after_(retry_after) {}

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::optional<std::chrono::milliseconds> retry_after() const noexcept {
    return retry_after_;
  }

 private:
  Kind kind_;
  std::optional<std::chrono::milliseconds> retry_after_;
};

/// How much one network has. `limit`, `used` and `resting` count addresses.
struct NetworkUsage {
  std::string network;
  IpFamily family = IpFamily::kIpv4;
  double limit = 0;      ///< a double: an IPv6 network has more than an integer holds
  uint64_t used = 0;     ///< of owners
  uint64_t resting = 0;  ///< released, and not given away again yet
};

/// Where VIFs come from. Knows nothing of Kubernetes, and keeps nothing on disk: after a start,
/// Adopt tells it of all that is written on objects before the first Reserve. Inventory alone waits
/// for anything. What takes longer in the other calls is under way, and the owner is woken when
/// asking again is worth it (`Wake`, which a backend gets when it is made). Every call may be
/// repeated and changes nothing then. Thread-safe. Reserve, Adopt, Keep and Release throw
/// BackendError.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// The VIFs for all of the request's interfaces, the default one first; the same ones at every
  /// call until Release. All or nothing: an error leaves nothing reserved that was not before.
  /// nullopt: under way. With `anew`, an interface that wishes for nothing gets another VIF when
  /// the one it had has rivals; that one's addresses are kept from others until Release.
  [[nodiscard]] virtual std::optional<std::vector<vif::PodVif>> Reserve(
      const PlanRequest& request) = 0;

  /// Whether the VIF was planned by this backend for this owner.
  [[nodiscard]] virtual bool Owns(const Owner& owner, const vif::PodVif& vif) const = 0;

  /// Why Reserve would never give this VIF to the owner, although Owns says yes: who may write
  /// where plans stand may have made it up. nullopt: it could.
  [[nodiscard]] virtual std::optional<std::string> WhyNeverGiven(const Owner& owner,
                                                                 const vif::PodVif& vif) const = 0;

  /// The owner has these VIFs, which are its own: they are written. Those of networks that are not
  /// there any more are kept from others where another network has their addresses. BackendError
  /// kRefused names the other owner when one of them is somebody else's already; the rest is kept
  /// then.
  virtual void Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) = 0;

  /// Another producer has planned these VIFs for the owner, and what it planned before counts no
  /// more. Their addresses are kept from others in networks that the owner's scope may use; this
  /// backend's own plans and claims go before them. BackendError kRefused as Adopt's.
  virtual void Heed(const Owner& owner, const std::vector<vif::PodVif>& vifs) = 0;

  /// What the owner may have beside its plan.
  struct Beside {
    std::vector<IpAddress> there;   ///< as its node tells
    std::vector<IpAddress> former;  ///< of earlier plans, as its object says

    [[nodiscard]] bool empty() const noexcept { return there.empty() && former.empty(); }
  };
  /// Kept from others until Release, whoever else has it; what is former, in networks that the
  /// owner's scope may use.
  virtual void KeepBeside(const Owner& owner, const Beside& beside) = 0;

  /// The claim, an owner without interfaces, keeps these addresses until Release: nobody gets them
  /// but an interface that names the claim, one at a time. BackendError kRefused names an address
  /// that its scope may not use, or that another scope's owner has; the rest is kept then.
  virtual void Keep(const Owner& claim, const std::vector<IpAddress>& addresses) = 0;

  /// Other owners that have an address, a MAC or a VLAN of these VIFs, too, so that Reserve has
  /// others for one of them (`anew`). nullopt: the backend does not say, and has no others.
  [[nodiscard]] virtual std::optional<std::vector<Owner>> Rivals(
      const Owner& owner, const std::vector<vif::PodVif>& vifs) const = 0;

  /// Whether traffic may pass through what Reserve gave. An owner whose VIFs are not active is
  /// woken when they are.
  [[nodiscard]] virtual bool IsActive(const Owner& owner, const std::vector<vif::PodVif>& vifs) = 0;

  /// Which of the VIFs that are written as active carry nothing any more, and why, for the owner's
  /// user; the owner is woken when that changes. Those that are not active, Reserve replaces.
  [[nodiscard]] virtual std::optional<std::string> FindLost(const Owner& owner) const = 0;

  /// What the owner of this id had is free again, after a rest. True when nothing of it is left;
  /// false: under way.
  virtual bool Release(const std::string& owner_id) = 0;

  /// A scope has ended, or all that there are are known: what is kept for others goes.
  virtual void SweepScopes() = 0;

  /// Owners that have something here, by id: what is among them and not in the cluster is an
  /// orphan.
  [[nodiscard]] virtual std::vector<Owner> Inventory() const = 0;

  [[nodiscard]] virtual std::vector<NetworkUsage> Usage() const = 0;
};

}  // namespace kuryr::controller
