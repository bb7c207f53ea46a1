#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"

namespace kuryr::controller::neutron {

/// One of a subnet's host_routes.
struct HostRoute {
  IpNetwork destination;
  IpAddress next_hop;

  bool operator==(const HostRoute&) const = default;
};

/// One of a subnet's allocation_pools, both ends included.
struct AddressRange {
  IpAddress first;
  IpAddress last;

  bool operator==(const AddressRange&) const = default;
};

/// GET /v2.0/subnets/ID.
struct Subnet {
  std::string id;
  std::string name;
  std::string network_id;
  IpNetwork cidr;
  /// Nothing where Neutron says null. Of IPv6 it may be the network's own address (fd00:10::),
  /// which is Neutron's default, and a gateway like any other.
  std::optional<IpAddress> gateway;
  std::vector<IpAddress> dns;
  std::vector<HostRoute> host_routes;
  std::vector<AddressRange> allocation_pools;
  /// Addresses follow from the MAC: ipv6_address_mode slaac or dhcpv6-stateless.
  bool is_slaac = false;

  bool operator==(const Subnet&) const = default;
};

/// GET /v2.0/networks/ID.
struct Network {
  std::string id;
  std::string name;
  uint32_t mtu = 0;  ///< 0 where Neutron names none
  /// provider:segmentation_id of a network of type vlan; hidden from all but admins.
  std::optional<uint16_t> vlan;

  bool operator==(const Network&) const = default;
};

}  // namespace kuryr::controller::neutron
