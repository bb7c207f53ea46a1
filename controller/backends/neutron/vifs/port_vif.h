#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "controller/backends/neutron/api/port.h"
#include "controller/backends/neutron/networks/networks.h"
#include "controller/backends/neutron/settings/pod_defaults.h"
#include "vif/vif.h"

namespace kuryr::controller::neutron {

/// Whether Neutron has not bound the port to its host: then no node can plug it.
[[nodiscard]] bool IsUnbound(const Port& port);

/// The VIF of a bound port, as Kuryr's translators make it (kuryr_kubernetes/os_vif_util.py):
///
/// | binding:vif_type | binding:vif_details | VIF |
/// |---|---|---|
/// | ovs | | VIFOpenVSwitch |
/// | ovs | ovs_hybrid_plug | VIFBridge |
/// | ovs, vhostuser | vhostuser_mode | VIFVHostUser |
/// | hw_veb | | VIFSriov |
///
/// Its port profile also says the bridge's datapath_type, where Neutron does. Fixed addresses
/// outside the network's subnets are left out. PlanError kRefused says what cannot be plugged.
[[nodiscard]] vif::Vif VifOf(const Port& port, const PodNetwork& network,
                             const PodDefaults& defaults);

/// VIFVlanNested of a sub-port, as Kuryr's translator makes it.
[[nodiscard]] vif::Vif VlanVifOf(const Port& port, const PodNetwork& network, uint16_t vlan);
/// VIFMacvlanNested of a port, as Kuryr's translator makes it. It is active at once, as Kuryr
/// writes it without asking Neutron.
[[nodiscard]] vif::Vif MacvlanVifOf(const Port& port, const PodNetwork& network);

/// Whether it is a UUID of Neutron. Programs such as this one make UUIDs of version 8.
[[nodiscard]] bool IsNeutrons(const std::string& id);
/// Whether the VIF is of that kind, and the functions above could make it of the port with its id.
template <typename Kind>
[[nodiscard]] bool IsNestedVif(const vif::Vif& vif) {
  const vif::VifBase& common = vif::Common(vif);
  return std::holds_alternative<Kind>(vif) && IsNeutrons(common.id.value_or("")) &&
         common.plugin == vif::Field<std::string>("noop");
}

/// Whether the VIF is one that VifOf makes of the port with its id.
[[nodiscard]] bool IsPortVif(const vif::Vif& vif);

}  // namespace kuryr::controller::neutron
