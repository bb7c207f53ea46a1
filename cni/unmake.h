#pragma once

#include "base/deadline.h"
#include "cni/attachments/attachment_record.h"
#include "cni/node.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Unmakes all that a record tells of: every plug, the last one first, then the addresses that a
/// delegated plugin gave. Throws the first failure after having tried all.
void Unmake(const AttachmentRecord& record, const Request& request, const Node& node,
            const Deadline& deadline);

/// Has the delegate take back what it gave, if the ADD had one: with the configuration of then,
/// whatever is configured now.
void ReleaseAddresses(const AttachmentRecord& record, const Request& request,
                      const Deadline& deadline);

}  // namespace kuryr::cni
