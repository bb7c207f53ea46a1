#pragma once

#include <string>

#include "cni/commands/call.h"

namespace kuryr::cni {

/// Serves a GC: unplugs every attachment of this network that the runtime does not list. It goes by
/// the record, or where that is lost, by the marks on ports and links. An attachment that an ADD or
/// DEL is at work on is left to them. Then the delegate does the same. One failure does not stop
/// the rest: throws CniError 5 that tells of all at the end, or the delegate's own. The answer is
/// empty.
std::string Gc(const Call& call);

}  // namespace kuryr::cni
