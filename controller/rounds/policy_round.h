#pragma once

#include "controller/backends/facets.h"
#include "controller/cluster/policies.h"
#include "controller/owners/writer.h"
#include "controller/rounds/reporter.h"

namespace kuryr::controller {

/// Tells users of policies, by Events, which part of a policy is not enforced. Each worker has its
/// own: it is not thread-safe, and what it shares is.
class PolicyRound {
 public:
  /// All borrowed. `enforcer` is null if the backend enforces no policy.
  PolicyRound(Policies& policies, const PolicyEnforcer* enforcer, Reporter& reporter,
              Writer& writer)
      : policies_(policies), enforcer_(enforcer), reporter_(reporter), writer_(writer) {}

  void Round(const Key& key);

 private:
  Policies& policies_;
  const PolicyEnforcer* const enforcer_;
  Reporter& reporter_;
  Writer& writer_;
};

}  // namespace kuryr::controller
