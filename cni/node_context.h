#pragma once

#include "binding/drivers/binding.h"
#include "cni/attachments/attachment_store.h"
#include "cni/config.h"
#include "cni/pod/api_writer.h"

namespace kuryr::cni {

/// The drivers' configuration from kuryr.conf and the records. `attachments` is borrowed.
[[nodiscard]] binding::BindingConfig ForDrivers(const Config& config,
                                                const AttachmentStore& attachments);

/// The parts of a node that its requests share. The members are borrowed.
struct NodeContext {
  binding::Binding& binding;
  AttachmentStore& attachments;
  /// The process that gets SIGTERM when its ADD is to give up. Unset in the agent, which cancels
  /// calls by itself.
  ProcessId owner;
  ApiWriter& writer;
};

}  // namespace kuryr::cni
