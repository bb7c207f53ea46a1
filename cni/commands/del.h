#pragma once

#include <string>

#include "cni/attachments/attachment_store.h"
#include "cni/commands/call.h"

namespace kuryr::cni {

/// Serves a DEL from what this node knows: the attachment's record, or the marks on its ports where
/// the record is lost. It needs no API server, and succeeds when nothing is left. An ADD that is
/// at work on the attachment is ended first. Throws when something could not be removed: its record
/// stays, and the runtime's next DEL tries again. The answer is empty.
std::string Del(const Call& call);

/// For a DEL that failed while the agent is down: marks the record as unwanted, so that the agent
/// sweeps the attachment when it is back. False without a record, or when another call is at work
/// on it. False when a delegated plugin has addresses to release, which the agent never does.
/// Throws std::system_error.
[[nodiscard]] bool LeaveToAgent(const AttachmentKey& key, AttachmentStore& attachments);

}  // namespace kuryr::cni
