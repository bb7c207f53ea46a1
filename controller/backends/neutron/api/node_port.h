#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"
#include "controller/backends/neutron/api/port.h"

namespace kuryr::controller::neutron {

/// A port that reaches its pod through a trunk, by a VLAN.
struct SubPort {
  std::string port_id;
  uint16_t vlan = 0;  ///< segmentation_id: 1..4094; 0 for a sub-port of another segmentation_type

  bool operator==(const SubPort&) const = default;
};

/// Addresses that a port may send from beside its own: one of allowed_address_pairs.
struct AddressPair {
  IpNetwork network;  ///< ip_address, which may be a network: a single address has its whole length
  std::optional<MacAddress> mac;  ///< the port's own where it is absent

  bool operator==(const AddressPair&) const = default;
};

/// The port of a virtual machine that is a node, as far as nested pods need it.
struct NodePort {
  std::string id;
  std::vector<FixedIp> fixed_ips;
  std::string trunk_id;  ///< empty where it has no trunk
  std::vector<SubPort> sub_ports;
  std::vector<AddressPair> address_pairs;
  int64_t revision = 0;  ///< revision_number: grows with each change

  bool operator==(const NodePort&) const = default;
};

/// Selects the ports of a list that have all of these values.
struct NodePortFilter {
  std::string id;
  std::optional<IpAddress> address;  ///< one of its fixed_ips
  std::string subnet_id;             ///< of one of its fixed_ips

  bool operator==(const NodePortFilter&) const = default;
};

}  // namespace kuryr::controller::neutron
