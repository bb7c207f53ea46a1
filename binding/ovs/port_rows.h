#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "binding/ovs/open_vswitch.h"

namespace kuryr::binding {

/// The rows of a port in the database, as operations of RFC 7047.

/// Inserts the port's rows. The row in table Port has the named UUID "port".
[[nodiscard]] nlohmann::json PortInsertions(const OvsPort& port);
/// OpenVSwitch::UpdatePort.
[[nodiscard]] nlohmann::json PortUpdates(const OvsPort& port, const PortState& there,
                                         bool with_settings);
/// Has ovs-vswitchd write a number to cur_cfg when it is done with everything up to here.
void AppendConfigNumber(nlohmann::json& operations);
/// The number, from the transaction's results.
[[nodiscard]] ConfigNumber ReadConfigNumber(const nlohmann::json& results);
/// The columns of either table that StateOf needs.
[[nodiscard]] nlohmann::json PortColumns();
[[nodiscard]] nlohmann::json InterfaceColumns();
/// Without the bridge. Throws nlohmann::json::exception for values of other types.
[[nodiscard]] PortState StateOf(const nlohmann::json& port, const nlohmann::json& interface);

}  // namespace kuryr::binding
