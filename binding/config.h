#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace kuryr::binding {

/// What kuryr.conf says to the drivers.
struct BindingConfig {
  /// [os_vif_ovs] ovsdb_connection: unix:FILE, tcp:IP:PORT or ssl:IP:PORT.
  std::string ovsdb_connection = "unix:/var/run/openvswitch/db.sock";
  /// For ssl:, PEM files: [os_vif_ovs] ssl_key_file, ssl_cert_file and ssl_ca_cert_file.
  std::string ssl_key_file;
  std::string ssl_cert_file;
  std::string ssl_ca_cert_file;
  /// [os_vif_ovs] ovs_vsctl_timeout: how long ovs-vswitchd may take for one port.
  std::chrono::seconds ovs_timeout{120};
  /// datapath_type of a bridge that has to be made, unless the VIF's port profile names one; empty:
  /// the kernel's.
  std::string datapath_type;
  /// [neutron_defaults] network_device_mtu: upper limit; 0 for none.
  uint32_t network_device_mtu = 0;
  /// [binding] link_iface: the node's link that nested interfaces stand on; empty: FindParentLink
  /// chooses.
  std::string link_iface;
};

}  // namespace kuryr::binding
