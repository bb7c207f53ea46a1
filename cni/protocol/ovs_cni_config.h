#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cni/protocol/bandwidth.h"

namespace kuryr::cni {

/// "type" of a network configuration of ovs-cni.
inline constexpr const char* kOvsCniType = "ovs";

/// A port's role in a mirror of its bridge. `ingress` (the switch's) mirrors packets from the pod,
/// and `egress` packets to it. `output` sends the mirrored packets to the pod.
struct OvsCniMirror {
  std::string name;
  bool ingress = false;
  bool egress = false;
  bool output = false;

  bool operator==(const OvsCniMirror&) const = default;
};

/// A network configuration of ovs-cni: the fields of its page cni-plugin.md, and vlan_mode,
/// bandwidth and mirrors.
struct OvsCniConfig {
  std::string bridge;            ///< empty: that of the device's uplink, or br-int for an OVN port
  std::optional<uint16_t> vlan;  ///< 0 to 4094: the port's tag
  std::string vlan_mode;         ///< of the port: access, trunk, native-tagged or native-untagged
  std::vector<uint16_t> trunks;  ///< ascending; empty: all
  uint32_t mtu = 0;              ///< bytes; 0: the bridge's
  uint32_t ofport_request = 0;   ///< 1 to 65279; 0: Open vSwitch chooses
  std::string interface_type;    ///< empty or "system"
  Bandwidth bandwidth;
  std::vector<OvsCniMirror> mirrors;

  bool operator==(const OvsCniConfig&) const = default;
};

/// Throws CniError 7 for a malformed field, 2 for one that cannot be obeyed.
[[nodiscard]] OvsCniConfig TakeOvsCniConfig(const nlohmann::json& config);
/// The field socket_file: "unix:PATH", "tcp:HOST:PORT" or "ssl:HOST:PORT"; a bare path is a unix
/// socket's. Empty when the field is not set. Throws CniError 7.
[[nodiscard]] std::string TakeOvsdbConnection(const nlohmann::json& config);

}  // namespace kuryr::cni
