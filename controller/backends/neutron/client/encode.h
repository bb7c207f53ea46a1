#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "controller/backends/neutron/api/network.h"
#include "controller/backends/neutron/api/node_port.h"
#include "controller/backends/neutron/api/port.h"
#include "controller/backends/neutron/api/security_group.h"

namespace kuryr::controller::neutron {

/// The object under "port" of a POST, and of a PUT.
[[nodiscard]] nlohmann::json EncodePortRequest(const PortRequest& request);
[[nodiscard]] nlohmann::json EncodePortUpdate(const PortUpdate& update);
/// The object under "network" or "subnet" of a POST.
[[nodiscard]] nlohmann::json EncodeNetworkRequest(const NetworkRequest& request);
[[nodiscard]] nlohmann::json EncodeSubnetRequest(const SubnetRequest& request);
/// The object under "security_group" of a POST, and an element of "security_group_rules".
[[nodiscard]] nlohmann::json EncodeSecurityGroupRequest(const SecurityGroupRequest& request);
[[nodiscard]] nlohmann::json EncodeSecurityRuleRequest(const SecurityRuleRequest& request);
/// An element of "sub_ports", and the list under "allowed_address_pairs".
[[nodiscard]] nlohmann::json EncodeSubPort(const SubPort& sub_port);
[[nodiscard]] nlohmann::json EncodeAddressPairs(const std::vector<AddressPair>& pairs);

}  // namespace kuryr::controller::neutron
