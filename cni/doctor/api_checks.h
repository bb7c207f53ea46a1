#pragma once

#include "cni/config.h"
#include "cni/doctor/finding.h"

namespace kuryr::cni::doctor {

/// Checks whether the API server accepts this process's identity, and which rights the identity
/// has. There is one SelfSubjectAccessReview for each right that kuryr-cni or its agent needs.
[[nodiscard]] Findings CheckApi(const Config& config);

}  // namespace kuryr::cni::doctor
