#pragma once

#include "controller/config.h"

namespace kuryr::controller {

enum class OrphanAct {
  kList,
  kRemove,  ///< refused while a controller leads, or may
  kRemoveAnyway,
};

/// `kuryr-controller orphans`: writes to stdout what is left that nobody takes away, and removes
/// it:
///
/// | orphan | when |
/// |---|---|
/// | a KuryrPort of kuryr-controller | its pod is gone |
/// | the finalizer of a deleted pod that has no plan of another producer | its node is gone |
/// | the same of a pod that is done | nobody leads |
/// | what the backend has of a pod | the pod is gone |
///
/// The exit status: 1 when something is left. Throws what ApiClient does, and std::runtime_error
/// when it refuses.
[[nodiscard]] int PrintOrphans(const Config& config, OrphanAct act);

}  // namespace kuryr::controller
