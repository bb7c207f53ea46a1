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

/// What kuryr.conf says of bridges; patterns are those of glob(7).
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

/// The node's bridges, and physical networks at them, as resources: a pod that asks for one runs
/// where it is. Names are those of ovs-cni's marker and of bridge-marker. Not thread-safe.
class Bridges {
 public:
  /// `sysfs`: "/sys", of the calling thread's network namespace.
  Bridges(BridgeOffer offer, std::filesystem::path sysfs)
      : offer_(std::move(offer)), sysfs_(std::move(sysfs)) {}

  /// Those that are there now, sorted by name: "ovs-cni.network.kubevirt.io/br-lan",
  /// "bridge.network.kubevirt.io/br0", "physnet.openstack.org/physnet1". While Open vSwitch does
  /// not answer, its bridges are those of the last time; the first time there are none.
  [[nodiscard]] std::vector<Resource> Find();
  /// As many as `bridge_places` says: "ovs-cni.network.kubevirt.io/br-lan#0".
  [[nodiscard]] std::vector<Device> PlacesAt(const Resource& bridge) const;

 private:
  void AskOpenVSwitch();

  const BridgeOffer offer_;
  const std::filesystem::path sysfs_;
  std::vector<std::string> of_ovs_;  ///< as it said last
  std::string problem_;              ///< logged last
};

/// "add@/devices/virtual/net/br-lan" may be of a bridge of `offer`, by its name.
[[nodiscard]] bool IsOfBridge(const BridgeOffer& offer, std::string_view uevent);

}  // namespace kuryr::devices
