#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"

namespace kuryr::controller::neutron {

struct FixedIp {
  std::string subnet_id;
  IpAddress address;

  bool operator==(const FixedIp&) const = default;
};

/// binding:vif_details, as far as a VIF follows from it. Fields that Neutron leaves out are empty
/// or false.
struct VifDetails {
  bool port_filter = false;
  bool ovs_hybrid_plug = false;
  std::string bridge_name;       ///< with ML2/OVS; ML2/OVN has none
  std::string datapath_type;     ///< "system", "netdev"; with ML2/OVS
  std::string vhostuser_mode;    ///< "client", "server"
  std::string vhostuser_socket;  ///< path on the node
  bool vhostuser_ovs_plug = false;

  bool operator==(const VifDetails&) const = default;
};

/// GET /v2.0/ports/ID. Neutron hides binding:* from all but admins: those texts are empty then.
struct Port {
  std::string id;
  std::string name;
  std::string description;
  std::string network_id;
  std::string device_id;
  std::string device_owner;
  std::string host_id;  ///< binding:host_id
  MacAddress mac;
  std::vector<FixedIp> fixed_ips;
  bool active = false;    ///< status is ACTIVE
  std::string vif_type;   ///< binding:vif_type: "ovs", "vhostuser", "unbound", "binding_failed"
  std::string vnic_type;  ///< binding:vnic_type: "normal", "direct"
  VifDetails vif_details;
  std::vector<std::string> tags;
  std::vector<std::string> security_groups;
  bool has_address_pairs = false;  ///< allowed_address_pairs: it may send from others
  int64_t revision = 0;            ///< revision_number: grows with each change, also of its status

  bool operator==(const Port&) const = default;
};

/// An address that a port asks for; without `address` Neutron chooses one of the subnet.
struct FixedIpRequest {
  std::string subnet_id;
  std::optional<IpAddress> address;

  bool operator==(const FixedIpRequest&) const = default;
};

/// POST /v2.0/ports. Empty texts, empty lists and nullopt are not sent.
struct PortRequest {
  std::string project_id;  ///< the token's when empty
  std::string name;
  std::string description;
  std::string network_id;
  std::vector<FixedIpRequest> fixed_ips;
  std::string device_id;
  std::string device_owner;
  std::string host_id;
  std::optional<MacAddress> mac;
  /// nullopt: the project's group "default". An empty list: the port drops everything.
  std::optional<std::vector<std::string>> security_groups;
  std::vector<std::string> tags;
  std::vector<IpNetwork> sends_from;  ///< allowed_address_pairs
  bool admin_state_up = true;

  bool operator==(const PortRequest&) const = default;
};

/// PUT /v2.0/ports/ID: a field that is nullopt stays as it is. With a revision, kPrecondition if
/// the port has another one by now (If-Match).
struct PortUpdate {
  std::optional<std::string> name;
  std::optional<std::string> description;
  std::optional<std::string> device_id;
  std::optional<std::string> host_id;
  std::optional<std::vector<std::string>> security_groups;
  std::optional<int64_t> revision;

  bool operator==(const PortUpdate&) const = default;
};

/// GET /v2.0/quotas/PROJECT/details, of ports.
struct PortQuota {
  int64_t limit = -1;  ///< -1: none
  int64_t used = 0;
  int64_t reserved = 0;  ///< by requests that are under way

  bool operator==(const PortQuota&) const = default;
};

/// Selects the ports of a list that have all of these values; an empty field selects all.
struct PortFilter {
  std::string name;
  std::string project_id;
  std::string network_id;
  std::string device_owner;
  std::string device_id;
  std::string description;
  std::string host_id;
  std::vector<std::string> tags;  ///< a port has all of them, and may have more; none has a comma

  bool operator==(const PortFilter&) const = default;
};

}  // namespace kuryr::controller::neutron
