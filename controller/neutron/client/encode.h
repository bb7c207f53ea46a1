#pragma once

#include <nlohmann/json_fwd.hpp>

#include "controller/neutron/port.h"

namespace kuryr::controller::neutron {

/// What stands under "port" of a POST, and of a PUT.
[[nodiscard]] nlohmann::json EncodePortRequest(const PortRequest& request);
[[nodiscard]] nlohmann::json EncodePortUpdate(const PortUpdate& update);

}  // namespace kuryr::controller::neutron
