#pragma once

#include "cni/call.h"

namespace kuryr::cni {

/// Serves a GC: unmakes every attachment of this network that the runtime does not list, by its
/// record, and where that was lost by the marks on its ports and links. What an ADD or DEL is at
/// work on is theirs. Then has the delegate do the same. One failure does not stop the rest: throws
/// CniError 5 that tells of all at the end, or the delegate's own.
void Gc(const Call& call);

}  // namespace kuryr::cni
