#pragma once

#include "binding/binding.h"
#include "cni/attachment_store.h"

namespace kuryr::cni {

/// What requests share on a node. Borrowed by them.
struct Node {
  binding::Binding& binding;
  AttachmentStore& attachments;
};

}  // namespace kuryr::cni
