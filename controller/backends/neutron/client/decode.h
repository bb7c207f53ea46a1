#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/backends/neutron/api/network.h"
#include "controller/backends/neutron/api/node_port.h"
#include "controller/backends/neutron/api/port.h"
#include "controller/backends/neutron/api/security_group.h"

namespace kuryr::controller::neutron {

// Decoders of Neutron's answers, body by body ({"port": {...}}). Unknown fields pass. A malformed
// field is a ParseError that names it, what was found and what was expected.

[[nodiscard]] Network DecodeNetwork(std::string_view body);
[[nodiscard]] Subnet DecodeSubnet(std::string_view body);
[[nodiscard]] std::vector<Subnet> DecodeSubnets(std::string_view body);
[[nodiscard]] Port DecodePort(std::string_view body);

/// The elements of a list answer.
template <typename T>
struct Page {
  std::vector<T> items;
  bool has_next = false;  ///< its links have one of rel next

  bool operator==(const Page&) const = default;
};
/// GET /v2.0/ports. Also of a creation in bulk.
[[nodiscard]] Page<Port> DecodePorts(std::string_view body);
/// GET /v2.0/ports with the fields that NodePort has.
[[nodiscard]] Page<NodePort> DecodeNodePorts(std::string_view body);
/// GET /v2.0/networks.
[[nodiscard]] Page<Network> DecodeNetworks(std::string_view body);

[[nodiscard]] SubnetPool DecodeSubnetPool(std::string_view body);

[[nodiscard]] SecurityGroup DecodeSecurityGroup(std::string_view body);
/// GET /v2.0/security-groups.
[[nodiscard]] Page<SecurityGroup> DecodeSecurityGroups(std::string_view body);
/// Rules that were created in bulk.
[[nodiscard]] std::vector<ListedRule> DecodeSecurityRules(std::string_view body);

/// GET /v2.0/quotas/PROJECT/details.
[[nodiscard]] PortQuota DecodePortQuota(std::string_view body);

/// Decodes a list that was asked for with fields=id.
[[nodiscard]] std::vector<std::string> DecodePortIds(std::string_view body);

/// GET /v2.0/extensions: whether one has that alias.
[[nodiscard]] bool HasExtension(std::string_view body, const std::string& alias);

}  // namespace kuryr::controller::neutron
