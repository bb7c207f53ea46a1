#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/neutron/network.h"
#include "controller/neutron/node_port.h"
#include "controller/neutron/port.h"

namespace kuryr::controller::neutron {

// What Neutron's answers say, body by body ({"port": {...}}). Unknown fields pass; what is
// malformed is a ParseError that names the field, what was found and what was expected.

[[nodiscard]] Network DecodeNetwork(std::string_view body);
[[nodiscard]] Subnet DecodeSubnet(std::string_view body);
[[nodiscard]] std::vector<Subnet> DecodeSubnets(std::string_view body);
[[nodiscard]] Port DecodePort(std::string_view body);

/// GET /v2.0/ports.
struct PortPage {
  std::vector<Port> ports;
  bool has_next = false;  ///< ports_links has one of rel next

  bool operator==(const PortPage&) const = default;
};
/// Also of a creation in bulk.
[[nodiscard]] PortPage DecodePorts(std::string_view body);

/// GET /v2.0/ports with the fields that NodePort has.
struct NodePortPage {
  std::vector<NodePort> ports;
  bool has_next = false;

  bool operator==(const NodePortPage&) const = default;
};
[[nodiscard]] NodePortPage DecodeNodePorts(std::string_view body);

/// GET /v2.0/quotas/PROJECT/details.
[[nodiscard]] PortQuota DecodePortQuota(std::string_view body);

/// Of a list with fields=id.
[[nodiscard]] std::vector<std::string> DecodePortIds(std::string_view body);

/// GET /v2.0/extensions: whether one has that alias.
[[nodiscard]] bool HasExtension(std::string_view body, const std::string& alias);

}  // namespace kuryr::controller::neutron
