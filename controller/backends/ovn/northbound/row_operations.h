#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "controller/backends/ovn/northbound/wanted_row.h"
#include "ovsdb/replica.h"

// Operations of OVSDB (RFC 7047, 5.2) that make a row as it is to be.

namespace kuryr::controller::ovn {

/// The <row> to be inserted, without its links.
[[nodiscard]] nlohmann::json RowOf(const WantedRow& wanted);

/// Appends operations for the columns in which the row of this UUID differs.
void AppendChanges(const WantedRow& wanted, const std::string& uuid, const OvsdbRow& row,
                   nlohmann::json& operations);

}  // namespace kuryr::controller::ovn
