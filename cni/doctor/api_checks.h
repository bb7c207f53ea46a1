#pragma once

#include "cni/config.h"
#include "cni/doctor/finding.h"

namespace kuryr::cni::doctor {

/// Whether the API server answers to this process' identity, and what that may do. There is one
/// SelfSubjectAccessReview for each right that kuryr-cni or its agent needs.
[[nodiscard]] Findings CheckApi(const Config& config);

}  // namespace kuryr::cni::doctor
