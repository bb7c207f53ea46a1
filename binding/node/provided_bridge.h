#pragma once

#include <optional>
#include <string>

#include "binding/config.h"
#include "binding/netlink/route_socket.h"
#include "binding/plan/planned.h"
#include "vif/vif.h"

namespace kuryr::binding {

/// The words of the VIF's network on a bridge that is missing. Throws ParseError for a network that
/// wants a VLAN below the bridge and lacks its id or link.
[[nodiscard]] BridgeProvision PlanProvision(const vif::VifBridge& vif);

/// The bridge of a VIFBridge. It is made where it is missing and the network says so
/// (should_provide_bridge and not multi_host). Where the network says that too
/// (should_provide_vlan), a VLAN "vlan<ID>" of bridge_interface becomes its port. Both stay after
/// the last pod, as with os-vif.
class ProvidedBridge {
 public:
  /// Changes nothing; `planned` outlives it. Throws std::system_error for a missing bridge that is
  /// not to be made, and for another link of its name. Throws UnsupportedVif for a network that
  /// wants it made in another way.
  ProvidedBridge(RouteSocket& host, const Planned& planned, const BindingConfig& config);

  void Provide();
  /// The bridge; after Provide.
  [[nodiscard]] const Link& link() const { return *link_; }
  /// Removes what Provide made, unless another pod uses it by now.
  void Remove();

 private:
  [[nodiscard]] bool IsEmptyAndDown();
  void RequireOwn();
  void ProvideVlan();
  void RequireNoStranger();
  [[nodiscard]] bool HasPortsBeside(const Link& bridge, const std::string& name);
  [[nodiscard]] std::string VlanName() const;

  RouteSocket& host_;
  const BridgeProvision& provision_;
  const std::string& name_;
  std::optional<Link> link_;
  std::optional<Link> parent_;  ///< the VLAN's, where a VLAN is planned
  bool made_bridge_ = false;
  bool made_vlan_ = false;
};

}  // namespace kuryr::binding
