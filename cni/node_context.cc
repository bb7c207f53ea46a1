#include "cni/node_context.h"

namespace kuryr::cni {

binding::BindingConfig ForDrivers(const Config& config, const AttachmentStore& attachments) {
  binding::BindingConfig binding = config.binding;
  binding.is_in_use = [&attachments](const binding::Attachment& attachment) {
    return attachments.IsInUse({attachment.network, attachment.container_id, attachment.ifname});
  };
  return binding;
}

}  // namespace kuryr::cni
