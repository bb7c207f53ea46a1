#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/mac.h"
#include "binding/config.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/plan/l3.h"
#include "vif/pod_vifs.h"

namespace kuryr::binding {

/// The names of one VIF on this node. They are decided before the first change and kept in the
/// attachment record. With VIF and API server gone, plug and attachment suffice to unplug all.
struct Plug {
  std::string driver;          ///< its name in kDrivers: "ovs", "bridge"
  std::string ifname;          ///< in the pod
  std::string host_interface;  ///< on the host: tap..., or a switch's port alone: vhu...; or empty
  std::string bridge;          ///< the bridge of the host interface; or empty
  std::string device;          ///< one more name: a PCI address, a socket, a bridge in between

  bool operator==(const Plug&) const = default;
};

/// How large a VIF's packets may be: as its network says, or where that says nothing, as the link
/// below says. Never larger than [neutron_defaults] network_device_mtu.
class PlannedMtu {
 public:
  /// For a network that says nothing, without a limit.
  PlannedMtu() = default;
  /// A `limit` of 0 is none.
  PlannedMtu(std::optional<uint32_t> of_network, uint32_t limit)
      : of_network_(of_network), limit_(limit) {}

  /// The network decides: the link below does not matter.
  [[nodiscard]] bool is_decided() const { return of_network_.has_value(); }
  /// On a link with this MTU.
  [[nodiscard]] uint32_t On(uint32_t below) const;
  /// The MTU for Check, 0 for any: the link below may have another one now than at the ADD.
  [[nodiscard]] uint32_t Checked() const { return is_decided() ? On(0) : 0; }

 private:
  std::optional<uint32_t> of_network_;
  uint32_t limit_ = 0;
};

/// A network's words on a missing bridge of the kernel that its ports are on.
struct BridgeProvision {
  bool is_provided = false;      ///< it is made
  std::optional<uint16_t> vlan;  ///< this VLAN of `uplink` becomes a port of it
  std::string uplink;            ///< a link of the node; or empty
};

/// All decisions on one VIF on this node. Connect, Check, the result and the status take them from
/// here, and do not read the VIF again.
struct Planned {
  Plug plug;
  MacAddress mac;
  PlannedMtu mtu;
  L3Plan l3;
  /// The port of Open vSwitch; its owner is missing yet (OwnedPort).
  std::optional<OvsPort> port;
  std::string datapath_type;  ///< that a missing bridge of `port` has to get; empty: any
  uint16_t vlan = 0;          ///< the interface's own: nested, or added by its card; 0: none
  BridgeProvision provision;
};

/// Whether the MAC is made of each of the addresses, as by kuryr-controller's pools: 0a:58 and the
/// IPv4 address. Their next owners have the same MAC, and neighbours that know it need no news.
[[nodiscard]] bool HasMacOfAddresses(const Planned& planned);
/// Decides what all kinds of VIFs have: the plug as it is given, MAC, MTU and layer 3. Throws
/// ParseError for a VIF without network, without a unicast MAC, or with an MTU that is too small
/// for its IPv6 addresses, and what PlanL3 throws.
[[nodiscard]] Planned PlanCommon(const vif::PodVif& vif, const Plug& plug,
                                 const BindingConfig& config);
/// Adds the limits that the runtime asks for to the planned port of Open vSwitch. Throws
/// UnsupportedLimit for a plug without a port.
void PlanLimits(const RateLimits& limits, Planned& planned);

}  // namespace kuryr::binding
