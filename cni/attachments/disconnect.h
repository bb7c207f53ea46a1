#pragma once

#include <chrono>

#include "base/deadline.h"
#include "binding/drivers/binding.h"
#include "cni/attachments/attachment_record.h"

namespace kuryr::cni {

/// What undoing may take, whatever time the request itself has left.
inline constexpr std::chrono::seconds kUndoTime{15};

/// Disconnects every plug of the record, the last one first; throws the first failure after having
/// tried all.
void DisconnectAll(binding::Binding& binding, const AttachmentRecord& record,
                   const Deadline& deadline);

}  // namespace kuryr::cni
