#pragma once

#include <string>

#include "cni/commands/call.h"

namespace kuryr::cni {

/// Serves a CHECK: compares the node with the attachment's record and with prevResult. prevResult
/// has what a plugin behind us in the chain changed, and lacks what it removed. So an address or
/// route that prevResult lacks may be missing in the pod. A route may be in another table. The MTU
/// is compared where prevResult has one. Changes nothing. Throws CniError 105 that names the first
/// difference, 3 without a record, and 7 for a prevResult that is malformed or another
/// attachment's. The delegate's error is its own. The answer is empty.
std::string Check(const Call& call);

}  // namespace kuryr::cni
