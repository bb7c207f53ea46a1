#include "controller/missing_right.h"

#include "watcher/api_error.h"

namespace kuryr::controller {

std::string WithMissingRight(const std::exception& failure) {
  std::string text = failure.what();
  const auto* refusal = dynamic_cast<const watcher::ApiError*>(&failure);
  if (refusal != nullptr && refusal->code() == watcher::ApiError::kForbidden)
    text += "; this release's etc/kubernetes/rbac-controller.yaml gives the right: apply it";
  return text;
}

}  // namespace kuryr::controller
