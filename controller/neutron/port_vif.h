#pragma once

#include "controller/neutron/networks.h"
#include "controller/neutron/pod_defaults.h"
#include "controller/neutron/port.h"
#include "vif/vif.h"

namespace kuryr::controller::neutron {

/// Neutron has not bound the port to its host: nothing can be plugged for it.
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
/// outside the network's subnets are left out. BackendError kRefused says what cannot be plugged.
[[nodiscard]] vif::Vif VifOf(const Port& port, const PodNetwork& network,
                             const PodDefaults& defaults);

/// Whether the VIF is one that VifOf makes of the port with its id.
[[nodiscard]] bool IsPortVif(const vif::Vif& vif);

}  // namespace kuryr::controller::neutron
