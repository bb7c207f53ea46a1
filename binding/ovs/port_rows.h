#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "binding/ovs/open_vswitch.h"

namespace kuryr::binding {

/// The rows of a port in the database, as operations of RFC 7047.

/// The external_ids of a port's QoS row: whose it is. The row stays when the port goes.
[[nodiscard]] ExternalIds QosIds(const std::string& port, const ExternalIds& port_ids);
/// Inserts the port's rows; that of the port itself is the named UUID "port".
[[nodiscard]] nlohmann::json PortInsertions(const OvsPort& port);
/// What StateOf needs of either table.
[[nodiscard]] nlohmann::json PortColumns();
[[nodiscard]] nlohmann::json InterfaceColumns();
/// Without the bridge. Throws nlohmann::json::exception for values of other types.
[[nodiscard]] PortState StateOf(const nlohmann::json& port, const nlohmann::json& interface);

}  // namespace kuryr::binding
