#pragma once

#include "cni/attachments/attachment_record.h"
#include "cni/attachments/attachment_store.h"

namespace kuryr::cni {

/// Throws binding::HostInterfaceInUse where a living pod of this node has what `own` is planned to
/// have. That is a port of Open vSwitch with the same iface-id, or a MAC together with an address
/// on the same bridge or link. Whose it is, only the log says. What the same pod has, or one that
/// was replaced under its name, counts for nothing: that is an older sandbox. `own` is in
/// `attachments` already, so of two that come at once neither overlooks the other.
void RequireOwnIdentity(const AttachmentRecord& own, const AttachmentStore& attachments);

}  // namespace kuryr::cni
