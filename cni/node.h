#pragma once

#include "binding/binding.h"
#include "cni/api_writer.h"
#include "cni/attachment_store.h"

namespace kuryr::cni {

/// What requests share on a node. Borrowed by them.
struct Node {
  binding::Binding& binding;
  AttachmentStore& attachments;
  /// What is ended by SIGTERM when an ADD of it is to give up; unset in the agent, which has other
  /// ways.
  ProcessId owner;
  ApiWriter& writer;
};

}  // namespace kuryr::cni
