#pragma once

#include <string>

#include "cni/commands/call.h"

namespace kuryr::cni {

/// Serves a CHECK: whether all that the ADD made is still so, by its record and as far as
/// prevResult says so too. prevResult has what a plugin behind us in the chain changed, and lacks
/// what it took away. So an address or route that is missing there may be missing in the pod. A
/// route may be in another table, and an MTU is compared where prevResult tells it. Changes
/// nothing. Throws CniError 105 that names the first difference, 3 without a record, and 7 for a
/// prevResult that is none or another attachment's. The delegate's error is its own. The answer is
/// empty.
std::string Check(const Call& call);

}  // namespace kuryr::cni
