#pragma once

#include "cni/attachments/attachment_store.h"
#include "cni/call.h"

namespace kuryr::cni {

/// Serves a DEL from what this node knows: the attachment's record, or where that was lost, the
/// marks on its ports. Needs no API server, no annotation and no namespace, and succeeds when there
/// is nothing (any more). An ADD still at work on the attachment is ended first. Throws when
/// something that exists could not be removed: its record stays, and the runtime's next DEL tries
/// again.
void Del(const Call& call);

/// For a DEL that failed, where the agent is down and undoes the rest when it is back: the record
/// says from now on that nobody wants the attachment. False where there is none, where another call
/// is at work on it, or where a delegated plugin has something to take back, which the agent never
/// does. Throws std::system_error.
[[nodiscard]] bool LeaveToAgent(const AttachmentKey& key, AttachmentStore& attachments);

}  // namespace kuryr::cni
