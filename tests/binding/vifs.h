#pragma once

#include <string>

#include "tests/binding/ovs_vif.h"

namespace kuryr::test {

/// The addresses, MAC and MTU of OvsVif(n), for another driver.
template <typename Kind>
Kind VifOf(int n, const std::string& plugin) {
  Kind vif;
  static_cast<vif::VifBase&>(vif) = OvsVif(n);
  vif.plugin = plugin;
  vif.port_profile.reset();
  vif.vif_name = OvsVif(n).vif_name;
  return vif;
}

inline vif::VifMacvlanNested MacvlanVif(int n) { return VifOf<vif::VifMacvlanNested>(n, "noop"); }

inline vif::VifVlanNested VlanVif(int n, uint16_t vlan_id) {
  auto vif = VifOf<vif::VifVlanNested>(n, "noop");
  vif.vlan_id = vlan_id;
  return vif;
}

inline vif::VifBridge BridgeVif(int n) {
  auto vif = VifOf<vif::VifBridge>(n, "linux_bridge");
  vif.network->bridge = std::string("br-lan");
  vif.bridge_name = std::string("br-lan");
  return vif;
}

/// As kuryr's translator makes it where Neutron's firewall is iptables_hybrid.
inline vif::VifBridge HybridVif(int n) {
  auto vif = VifOf<vif::VifBridge>(n, "ovs");
  vif.port_profile = OvsVif(n).port_profile;
  vif.bridge_name = "qbr" + vif.vif_name->substr(3);
  vif.has_traffic_filtering = true;
  return vif;
}

/// With the names that os-vif makes of the id; the pod finds its socket below `mount_point`.
inline vif::VifVHostUser VhostUserVif(int n, vif::VHostUserMode mode,
                                      const std::string& mount_point = "/var/cni/vhostuser") {
  auto vif = VifOf<vif::VifVHostUser>(n, "ovs");
  vif.port_profile = OvsVif(n).port_profile;
  vif.vif_name = ("vhu" + *vif.id).substr(0, 14);
  vif.path = mount_point + "/" + *vif.vif_name;
  vif.mode = mode;
  return vif;
}

inline vif::VifDpdkNested DpdkVif(int n) {
  auto vif = VifOf<vif::VifDpdkNested>(n, "noop");
  vif.port_profile = vif::PortProfile(vif::PortProfileK8sDpdk());
  vif.pci_address = std::string();
  vif.dev_driver = std::string();
  return vif;
}

}  // namespace kuryr::test
