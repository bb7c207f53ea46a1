#include "cni/attachments/disconnect.h"

#include <exception>

namespace kuryr::cni {

void DisconnectAll(binding::Binding& binding, const AttachmentRecord& record,
                   const Deadline& deadline) {
  std::exception_ptr first;
  for (auto plug = record.plugs.rbegin(); plug != record.plugs.rend(); ++plug) {
    try {
      binding.Disconnect(*plug, record.attachment(), deadline);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace kuryr::cni
