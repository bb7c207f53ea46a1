#pragma once

#include <string>
#include <vector>

#include "vif/pod_vifs.h"
#include "vif/vif.h"

namespace kuryr::vif {

/// Text for people, every line ended by a line feed, printable ASCII otherwise whatever the values
/// hold. `indent` counts spaces in front of every line.

/// One line: kind, state, MAC address, addresses with their gateways, MTU, bridge, VLAN.
[[nodiscard]] std::string Summary(const Vif& vif);
/// Every field that is set, one per line, objects indented below their name.
[[nodiscard]] std::string Readable(const Vif& vif, size_t indent = 0);
[[nodiscard]] std::string Readable(const Network& network, size_t indent = 0);
[[nodiscard]] std::string Readable(const InstanceInfo& instance, size_t indent = 0);
/// Per VIF: its name and Summary(), then Readable() below.
[[nodiscard]] std::string Readable(const std::vector<PodVif>& vifs);

}  // namespace kuryr::vif
