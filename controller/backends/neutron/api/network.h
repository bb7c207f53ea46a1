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
  /// nullopt where Neutron says null. An IPv6 gateway may be the network's own address (fd00:10::),
  /// which is Neutron's default.
  std::optional<IpAddress> gateway;
  std::vector<IpAddress> dns;
  std::vector<HostRoute> host_routes;
  std::vector<AddressRange> allocation_pools;
  std::string pool_id;  ///< of the subnet pool that cidr is of; empty without one
  std::vector<std::string> tags;
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
  std::string description;
  std::vector<std::string> subnet_ids;
  std::vector<std::string> tags;

  bool operator==(const Network&) const = default;
};

/// POST /v2.0/networks. Empty fields are not sent.
struct NetworkRequest {
  std::string project_id;  ///< the token's when empty
  std::string name;
  std::string description;

  bool operator==(const NetworkRequest&) const = default;
};

/// Selects networks of a list; an empty field selects all.
struct NetworkFilter {
  std::string name;
  std::string project_id;

  bool operator==(const NetworkFilter&) const = default;
};

/// GET /v2.0/subnetpools/ID.
struct SubnetPool {
  std::string id;
  IpFamily family = IpFamily::kIpv4;

  bool operator==(const SubnetPool&) const = default;
};

/// POST /v2.0/subnets, of a prefix that Neutron takes from the pool; without DHCP.
struct SubnetRequest {
  std::string project_id;  ///< the token's when empty
  std::string name;
  std::string network_id;
  SubnetPool pool;

  bool operator==(const SubnetRequest&) const = default;
};

}  // namespace kuryr::controller::neutron
