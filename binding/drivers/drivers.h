#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "binding/driver_context.h"
#include "binding/plan/attachment.h"
#include "binding/plan/planned.h"
#include "vif/vif.h"

namespace kuryr::binding {

class Driver;

/// The drivers: a function that makes each, and a table for everybody else. A new driver is a
/// source file, a function and a row in here.

/// VIFOpenVSwitch of plugin "ovs": a veth pair, its host end `vif_name` as a port of the bridge.
/// os-vif: vif_plug_ovs; Neutron and OVN find the port by external_ids:iface-id.
inline constexpr const char* kOvsDriver = "ovs";
[[nodiscard]] std::unique_ptr<Driver> NewOvsDriver(const DriverContext& context);

/// VIFMacvlanNested and VIFVlanNested: the node is a virtual machine, and the pod's interface
/// stands on top of one of its links. It is a macvlan whose address Neutron allows on the machine's
/// port, or a VLAN that is a subport of the machine's trunk. Nothing is made on the host:
/// Disconnect and FindPlugs go by the marks in the attachment's namespace, and with that the
/// interface is gone. (kuryr_kubernetes/cni/binding/nested.py)
inline constexpr const char* kNestedDriver = "nested";
[[nodiscard]] std::unique_ptr<Driver> NewNestedDriver(const DriverContext& context);
/// The name of a nested link until it has its mark, where the host has a link of the pod's name.
/// Older kernels refuse to make a link in another namespace under a name that is taken in this one.
/// Every try of a plug has the same name. Renaming takes 0.2 ms.
[[nodiscard]] std::string TemporaryLinkName(const Plug& plug, const Attachment& attachment);

/// VIFBridge of plugin "linux_bridge": a veth pair, its host end `vif_name` as a port of the
/// kernel's bridge. A missing bridge is made where the network says that os-vif should provide it;
/// it stays, as with os-vif: vif_plug_linux_bridge. FindPlugs goes by the marks in the attachment's
/// namespace: with that, the veth is gone anyway. FindPlugsOf goes by those on the node's ends of
/// veth pairs: those of ports of Open vSwitch are among them.
inline constexpr const char* kBridgeDriver = "bridge";
[[nodiscard]] std::unique_ptr<Driver> NewBridgeDriver(const DriverContext& context);

/// VIFBridge of plugin "ovs": a bridge of the kernel between the pod and Open vSwitch, on which
/// Neutron's iptables firewall stands. The pod's veth "tap…" and one end "qvb…" of a second one are
/// ports of the bridge "qbr…", the other end "qvo…" is the port of Open vSwitch.
/// os-vif: vif_plug_ovs, _plug_bridge.
inline constexpr const char* kHybridDriver = "hybrid";
[[nodiscard]] std::unique_ptr<Driver> NewHybridDriver(const DriverContext& context);
/// The names of its links beside the pod's veth: bridge, its end, the port.
[[nodiscard]] std::vector<std::string> HybridNamesOf(const Plug& plug);

/// VIFVHostUser of plugin "ovs": a port of Open vSwitch with DPDK, whose other end is an
/// application's unix socket in [vhostuser] mount_point; no network interface. In mode client
/// ovs-vswitchd makes the socket, in mode server the application does. os-vif: vif_plug_ovs, kuryr:
/// cni/binding/vhostuser.py.
inline constexpr const char* kVhostUserDriver = "vhostuser";
[[nodiscard]] std::unique_ptr<Driver> NewVhostUserDriver(const DriverContext& context);

/// VIFDPDKNested and VIFNestedDPDK, of plugin "noop" or none: a PCI device of the node, found by
/// the VIF's MAC. The kernel's network driver gives it up for a pod with DPDK. No network interface
/// remains. Plan looks for the device: it throws std::system_error when no or more than one has the
/// MAC. FindPlugs goes by the file of the attachment's own interface. kuryr: cni/binding/dpdk.py.
inline constexpr const char* kDpdkDriver = "dpdk";
[[nodiscard]] std::unique_ptr<Driver> NewDpdkDriver(const DriverContext& context);

/// VIFSriov of plugin "sriov" and VIFHostDevice of plugin "ovs": the link of a virtual function
/// (VF) goes into the pod. Its physical function (PF) enforces MAC and VLAN. The VF of a
/// VIFHostDevice is reached through its representor, a port of the Open vSwitch bridge. The one
/// driver that moves links: hardware cannot be born elsewhere. Plan looks for the VF in sysfs, and
/// throws HostInterfaceInUse for one that is not on the host. After Disconnect the VF is as it was;
/// when the kernel brought it back, with the end of the namespace, it is found by its PCI address.
/// FindPlugs goes by the marks in the attachment's namespace and on the host. A representor's port
/// is the driver ovs' to find, and to remove. (kuryr_kubernetes/cni/binding/sriov.py; os-vif:
/// vif_plug_ovs)
inline constexpr const char* kSriovDriver = "sriov";
[[nodiscard]] std::unique_ptr<Driver> NewSriovDriver(const DriverContext& context);

/// Which of a driver's plugs have a port of Open vSwitch.
enum class OvsPorts { kNone, kThoseWithABridge, kAll };

/// The kind of thing that Plug::device names for the pod's application.
enum class PodDevice { kNone, kSocket, kPciFunction };

/// The index of the kind in vif::Vif.
template <class Kind, class... Kinds>
constexpr size_t IndexOfKind(std::type_identity<std::variant<Kinds...>> /*kinds*/) {
  size_t index = 0;
  (void)((std::is_same_v<Kind, Kinds> || (++index, false)) || ...);
  return index;
}
template <class Kind>
inline constexpr size_t kKind = IndexOfKind<Kind>(std::type_identity<vif::Vif>());

/// A kind of VIF that a driver makes true.
struct AcceptedVif {
  size_t kind = std::variant_npos;  ///< kKind
  std::string_view plugin;          ///< os-vif's; "noop" stands for none as well
};

struct DriverRow {
  const char* name =
      nullptr;  ///< in plugs, records, external_ids:kuryr-driver and [binding] drivers
  std::array<AcceptedVif, 2> vifs = {};
  OvsPorts ports = OvsPorts::kNone;
  PodDevice device = PodDevice::kNone;
  bool has_pod_link = true;     ///< the pod gets a link of the kernel
  bool has_named_veth = false;  ///< the VIF says what its end on the node is called
  /// The kernel's, of the links that it makes beside veth.
  std::array<std::string_view, 2> modules = {};
  std::unique_ptr<Driver> (*make)(const DriverContext& context) = nullptr;
};

inline constexpr auto kDrivers = std::to_array<DriverRow>({
    {.name = kOvsDriver,
     .vifs = {{{kKind<vif::VifOpenVSwitch>, "ovs"}}},
     .ports = OvsPorts::kAll,
     .has_named_veth = true,
     .make = NewOvsDriver},
    {.name = kNestedDriver,
     .vifs = {{{kKind<vif::VifMacvlanNested>, "noop"}, {kKind<vif::VifVlanNested>, "noop"}}},
     .modules = {"macvlan", "8021q"},
     .make = NewNestedDriver},
    {.name = kBridgeDriver,
     .vifs = {{{kKind<vif::VifBridge>, "linux_bridge"}}},
     .has_named_veth = true,
     .modules = {"bridge"},
     .make = NewBridgeDriver},
    {.name = kHybridDriver,
     .vifs = {{{kKind<vif::VifBridge>, "ovs"}}},
     .ports = OvsPorts::kAll,
     .has_named_veth = true,
     .modules = {"bridge"},
     .make = NewHybridDriver},
    {.name = kVhostUserDriver,
     .vifs = {{{kKind<vif::VifVHostUser>, "ovs"}}},
     .ports = OvsPorts::kAll,
     .device = PodDevice::kSocket,
     .has_pod_link = false,
     .make = NewVhostUserDriver},
    {.name = kDpdkDriver,
     .vifs = {{{kKind<vif::VifDpdkNested>, "noop"}, {kKind<vif::VifNestedDpdk>, "noop"}}},
     .device = PodDevice::kPciFunction,
     .has_pod_link = false,
     .make = NewDpdkDriver},
    {.name = kSriovDriver,
     .vifs = {{{kKind<vif::VifSriov>, "sriov"}, {kKind<vif::VifHostDevice>, "ovs"}}},
     .ports = OvsPorts::kThoseWithABridge,
     .device = PodDevice::kPciFunction,
     .make = NewSriovDriver},
});

/// By the name in a plug, which a record or a port's external_ids say; null for an unknown one.
[[nodiscard]] const DriverRow* FindDriverRow(std::string_view name);
/// The names on the host of the plug's links and ports. Those that the node alone decides, as a
/// representor's, are missing.
[[nodiscard]] std::vector<std::string> HostNamesOf(const Plug& plug);
/// Whether the plug is, or was planned to be, a port of Open vSwitch.
[[nodiscard]] bool HasOvsPort(const Plug& plug);

}  // namespace kuryr::binding
