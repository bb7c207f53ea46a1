#pragma once

#include <string>
#include <vector>

#include "vif/pod_vifs.h"
#include "vif/vif.h"

namespace kuryr::vif {

/// Makes text for people. A line feed ends every line, and all else is printable ASCII. `indent` is
/// the number of spaces before every line.

/// One line: kind, state, MAC address, addresses with their gateways, MTU, bridge, VLAN.
[[nodiscard]] std::string Summary(const Vif& vif);
/// Every field that is set, one per line, objects indented below their name.
[[nodiscard]] std::string Readable(const Vif& vif, size_t indent = 0);
[[nodiscard]] std::string Readable(const Network& network, size_t indent = 0);
[[nodiscard]] std::string Readable(const InstanceInfo& instance, size_t indent = 0);
/// Per VIF: its name and Summary(), then Readable() below.
[[nodiscard]] std::string Readable(const std::vector<PodVif>& vifs);

}  // namespace kuryr::vif
