#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kuryr::binding {

/// A port's part in a mirror of its bridge.
struct PortMirror {
  std::string name;
  bool ingress = false;  ///< packets that come in by the port are mirrored
  bool egress = false;   ///< packets that leave by the port are mirrored
  bool output = false;   ///< mirrored packets leave by the port

  bool operator==(const PortMirror&) const = default;
};

/// Settings of a port of Open vSwitch that no agent of Neutron's gives it, in the columns of
/// ovs-vswitchd.conf.db(5).
struct PortSettings {
  std::optional<uint16_t> vlan;  ///< Port.tag
  std::string vlan_mode;         ///< Port.vlan_mode; empty: what `vlan` and `trunks` imply
  std::vector<uint16_t> trunks;  ///< Port.trunks, ascending; empty: all
  std::string interface_type;    ///< Interface.type; empty: a network device of the node
  uint32_t ofport_request = 0;   ///< of the Interface; 0: Open vSwitch chooses
  std::vector<PortMirror> mirrors;
  std::string iface_id;  ///< Interface.external_ids:iface-id; empty: the VIF's
  std::map<std::string, std::string> external_ids;  ///< of the Port; others are the Interface's

  bool operator==(const PortSettings&) const = default;
};

}  // namespace kuryr::binding
