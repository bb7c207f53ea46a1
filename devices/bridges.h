#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "devices/device.h"
#include "devices/resource.h"

namespace kuryr::devices {

/// The bridges that kuryr.conf offers; patterns are those of glob(7).
struct BridgeOffer {
  std::vector<std::string> ovs;     ///< [devices] ovs_bridges: Open vSwitch's, patterns
  std::vector<std::string> kernel;  ///< [devices] bridges: the kernel's, patterns
  std::map<std::string, std::string>
      physnets;            ///< [devices] bridge_mappings: Open vSwitch's bridge
  uint32_t places = 1000;  ///< [devices] bridge_places, of each
  /// [os_vif_ovs] ovsdb_connection, ssl_key_file, ssl_cert_file and ssl_ca_cert_file.
  std::string ovsdb_connection = "unix:/var/run/openvswitch/db.sock";
  std::string ssl_key_file;
  std::string ssl_cert_file;
  std::string ssl_ca_cert_file;
};

/// The node's bridges and their physical networks as resources, so that a pod that asks for one
/// runs on a node with it. The resources have the names of ovs-cni's marker and of bridge-marker.
/// Not thread-safe.
class Bridges {
 public:
  /// `sysfs`: "/sys", of the calling thread's network namespace.
  Bridges(BridgeOffer offer, std::filesystem::path sysfs)
      : offer_(std::move(offer)), sysfs_(std::move(sysfs)) {}

  /// The existing bridges, sorted by name: "ovs-cni.network.kubevirt.io/br-lan",
  /// "bridge.network.kubevirt.io/br0", "physnet.openstack.org/physnet1". While Open vSwitch does
  /// not answer, its bridges are those of the last answer; before the first answer there are none.
  [[nodiscard]] std::vector<Resource> Find();
  /// The places of a bridge, `bridge_places` in number: "ovs-cni.network.kubevirt.io/br-lan#0".
  [[nodiscard]] std::vector<Device> PlacesAt(const Resource& bridge) const;

 private:
  void AskOpenVSwitch();

  const BridgeOffer offer_;
  const std::filesystem::path sysfs_;
  std::vector<std::string> of_ovs_;  ///< Open vSwitch's bridges at its last answer
  std::string problem_;              ///< logged last
};

/// Whether an event such as "add@/devices/virtual/net/br-lan" may concern a bridge of `offer`, by
/// its name.
[[nodiscard]] bool IsOfBridge(const BridgeOffer& offer, std::string_view uevent);

}  // namespace kuryr::devices
