#pragma once

#include <string>

#include "cni/commands/call.h"

namespace kuryr::cni {

/// Serves a GC: unplugs every attachment of this network that the runtime does not list. It finds
/// them by their records, or where those are lost, by the marks on ports and links. It leaves an
/// attachment alone that an ADD or DEL is at work on. Then it calls the delegate's GC. A failure
/// does not stop the rest: at the end it throws CniError 5 with all failures, or the delegate's
/// error. The answer is empty.
std::string Gc(const Call& call);

}  // namespace kuryr::cni
