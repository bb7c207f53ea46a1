#pragma once

#include "cni/config.h"
#include "cni/doctor/finding.h"

namespace kuryr::cni::doctor {

/// Checks whether this process may do what an ADD does, and which kinds of links the kernel has.
/// Makes them in a network namespace of its own, so that the node does not change.
[[nodiscard]] Findings CheckKernel(const Config& config);

}  // namespace kuryr::cni::doctor
