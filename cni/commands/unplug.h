#pragma once

#include "base/deadline.h"
#include "cni/attachments/attachment_record.h"
#include "cni/node_context.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Unplugs an attachment by its record. First the delegated plugin releases its addresses, which
/// may need the interface (dhcp). Then every plug is disconnected, the last one first. Throws the
/// first failure after having tried all.
void Unplug(const AttachmentRecord& record, const Request& request, const NodeContext& node,
            const Deadline& deadline);

/// Has the delegated plugin release its addresses, if the ADD had one. The plugin gets the ADD's
/// configuration, whatever is configured now.
void ReleaseAddresses(const AttachmentRecord& record, const Request& request,
                      const Deadline& deadline);

}  // namespace kuryr::cni
