#pragma once

#include "controller/config.h"

namespace kuryr::controller {

enum class OrphanAct {
  kList,
  kRemove,  ///< refused while a controller leads, or may
  kRemoveAnyway,
};

/// The arguments of command "orphans".
struct OrphanOrder {
  OrphanAct act = OrphanAct::kList;
  bool as_json = false;
};

/// `kuryr-controller orphans`: writes to stdout, and removes if asked, what no controller takes
/// away:
///
/// | orphan | when |
/// |---|---|
/// | a KuryrPort of kuryr-controller | its pod is gone |
/// | the finalizer of a deleted pod that has no plan of another producer | its node is gone |
/// | the finalizer of a pod that is done | no controller leads |
/// | addresses or ports that the backend has for a pod | the pod is gone |
///
/// The exit status is 1 if something is left. Throws what ApiClient does, and std::runtime_error
/// when it refuses.
[[nodiscard]] int PrintOrphans(const Config& config, const OrphanOrder& order);

}  // namespace kuryr::controller
