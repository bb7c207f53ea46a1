#pragma once

#include "controller/config.h"

namespace kuryr::controller {

/// `kuryr-controller adopt --dry-run`: writes to stdout what a leader with this kuryr.conf would
/// take over, release and leave as it is. It looks at pods' plans, KuryrPorts, and Neutron ports
/// that have the cluster's tags, and changes nothing. The exit status is 1 if something has no
/// controller that looks after it, or cannot be read. Throws what ApiClient does, and NeutronError.
[[nodiscard]] int PrintAdoption(const Config& config, bool as_json);

}  // namespace kuryr::controller
