#pragma once

#include "cni/config.h"
#include "cni/doctor/finding.h"

namespace kuryr::cni::doctor {

/// Whether this process may do what an ADD does, and which kinds of links the kernel has. It makes
/// them in a network namespace of its own, so that the node stays as it is.
[[nodiscard]] Findings CheckKernel(const Config& config);

}  // namespace kuryr::cni::doctor
