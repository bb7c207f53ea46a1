#pragma once

#include "binding/drivers/binding.h"
#include "cni/attachments/attachment_store.h"
#include "cni/config.h"
#include "cni/pod/api_writer.h"

namespace kuryr::cni {

/// What the drivers go by: kuryr.conf, and what the records tell. `attachments` is borrowed.
[[nodiscard]] binding::BindingConfig ForDrivers(const Config& config,
                                                const AttachmentStore& attachments);

/// What requests share on a node. Borrowed by them.
struct NodeContext {
  binding::Binding& binding;
  AttachmentStore& attachments;
  /// What is ended by SIGTERM when an ADD of it is to give up; unset in the agent, which has other
  /// ways.
  ProcessId owner;
  ApiWriter& writer;
};

}  // namespace kuryr::cni
