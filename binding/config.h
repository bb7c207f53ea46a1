#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "binding/hairpin_mode.h"
#include "binding/ovs/port_settings.h"
#include "binding/ovs/port_wiring.h"

namespace kuryr::binding {

struct Attachment;

/// Names in the operator's configuration beside [binding]: in pools of kuryr.conf, and in the CNI
/// configuration of a network without a producer.
struct NamedElsewhere {
  std::vector<std::string> drivers;
  std::vector<std::string> ovs_bridges;
  std::vector<std::string> kernel_bridges;
  std::vector<std::string> uplinks;          ///< links whose VLANs become ports of kernel_bridges
  std::vector<std::string> host_interfaces;  ///< in full
};

/// The options of kuryr.conf for the drivers.
struct BindingConfig {
  /// [os_vif_ovs] ovsdb_connection: unix:FILE, tcp:IP:PORT or ssl:IP:PORT.
  std::string ovsdb_connection = "unix:/var/run/openvswitch/db.sock";
  /// For ssl:, PEM files: [os_vif_ovs] ssl_key_file, ssl_cert_file and ssl_ca_cert_file.
  std::string ssl_key_file;
  std::string ssl_cert_file;
  std::string ssl_ca_cert_file;
  /// [os_vif_ovs] ovsdb_wait: for an ovsdb-server that is down, by an ADD, in each outage; zero:
  /// not at all.
  std::chrono::seconds ovsdb_wait{10};
  /// [os_vif_ovs] ovs_vsctl_timeout: how long ovs-vswitchd may take for one port.
  std::chrono::seconds ovs_timeout{120};
  /// datapath_type of a bridge that has to be made; empty: the kernel's.
  std::string datapath_type;
  /// [os_vif_ovs] isolate_vif: new ports pass no packets until Neutron's agent gives them a VLAN.
  bool isolate_vif = false;
  /// [os_vif_ovs] wait_for_wiring: the service for whose part in a new port an ADD waits.
  WaitForWiring wait_for_wiring = WaitForWiring::kAuto;
  /// [os_vif_ovs] default_qos_type, of the QoS row that each port gets; empty: none. With
  /// linux-noop ovs-vswitchd leaves alone a link's root qdisc (CNI's bandwidth plugin). It deletes
  /// an ingress qdisc all the same (Open vSwitch, netdev_linux_set_policing).
  std::string default_qos_type = "linux-noop";
  /// [os_vif_ovs] transient_ports: new ports get the mark by which ovs-ctl finds what to delete
  /// before ovs-vswitchd starts.
  bool transient_ports = true;
  /// [neutron_defaults] network_device_mtu: upper limit; 0 for none.
  uint32_t network_device_mtu = 0;
  /// [binding] drivers and bridges: what VIFs may ask for; empty: what RequireAllowedDriver and
  /// RequireAllowedBridge say. Bridges may be patterns of glob(7).
  std::vector<std::string> drivers;
  std::vector<std::string> bridges;
  /// [binding] host_interfaces: what VIFs may call the host's end of a veth; patterns of glob(7).
  std::vector<std::string> host_interfaces = {"tap*"};
  std::string ovs_bridge = "br-int";  ///< [neutron_defaults] ovs_bridge
  NamedElsewhere named;
  /// [binding] link_iface: the node's link that nested interfaces stand on; empty: FindParentLink
  /// chooses.
  std::string link_iface;
  /// [vhostuser] mount_point: the folder that pods mount to find their vhost-user interfaces.
  std::filesystem::path vhostuser_mount_point = "/var/cni/vhostuser";
  /// [vhostuser] ovs_vhu_path: where ovs-vswitchd makes the sockets of dpdkvhostuser ports.
  std::filesystem::path ovs_vhu_path = "/var/run/openvswitch";
  /// [nested_dpdk] dpdk_driver: the kernel's driver that the device of a VIFDPDKNested is bound to.
  std::string dpdk_driver = "uio_pci_generic";
  /// [nested_dpdk] pci_mount_point: where pods find the addresses of their devices.
  std::filesystem::path pci_mount_point = "/var/pci_address";
  /// [os_vif_ovs] port_security: pods whose gateway is their node send only from their own
  /// addresses.
  bool port_security = true;
  /// [kubernetes] vif_source = kuryrport: no pod's user writes plans, so one may say
  /// vif::kNoPortSecurity.
  bool trusts_plans = false;
  /// For networks that the node makes by itself. owns_ports: no agent of Neutron's gives the ports
  /// of Open vSwitch their VLANs and QoS. port: settings of new ports. needs_bridge: a missing
  /// bridge is an error. hairpin: how a bridge's ports reach themselves.
  bool owns_ports = false;
  PortSettings port;
  bool needs_bridge = false;
  HairpinMode hairpin = HairpinMode::kNone;
  /// Whether an attachment is still in use although its namespace has no process: its ADD may run,
  /// or have just ended. Unset: no attachment does. Thread-safe.
  std::function<bool(const Attachment& attachment)> is_in_use;
  /// The folder for the earlier state of virtual functions in pods: in [cni_daemon] state_dir,
  /// "vfs", this boot's ID.
  std::filesystem::path vf_folder = "/run/kuryr/vfs";
  /// Where the kernel's devices are described; another folder for tests.
  std::filesystem::path sysfs = "/sys";
};

}  // namespace kuryr::binding
