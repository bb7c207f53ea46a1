#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"

namespace kuryr::binding {

/// The names of Open vSwitch's bridges, sorted. `remote` as for OvsdbClient, and so is what it
/// throws.
[[nodiscard]] std::vector<std::string> ListBridges(const std::string& remote,
                                                   const Deadline& deadline);

}  // namespace kuryr::binding
