#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "controller/backends/facets.h"
#include "controller/cluster/paced_changes.h"
#include "controller/cluster/policies.h"
#include "controller/cluster/services.h"
#include "controller/rounds/round.h"

namespace kuryr::controller {

/// Rounds that plan nothing, and tell an object's user something by Events.

/// Tells which part of a policy is not enforced.
class PolicyRound : public Round {
 public:
  PolicyRound(Policies& policies, const RoundParts& parts)
      : policies_(policies),
        enforcer_(parts.needs.policies ? parts.backend.facets().policies : nullptr),
        reporter_(parts.reporter),
        writer_(parts.writer) {}

  void Look(const Key& key) override;

 private:
  Policies& policies_;
  const PolicyEnforcer* const enforcer_;  ///< null: the backend enforces no policy
  Reporter& reporter_;
  Writer& writer_;
};

/// Tells why the backend does not balance a Service.
class ServiceRound : public Round {
 public:
  ServiceRound(Services& services, const RoundParts& parts)
      : services_(services),
        balancer_(parts.needs.services ? parts.backend.facets().services : nullptr),
        reporter_(parts.reporter),
        writer_(parts.writer) {}

  void Look(const Key& key) override;

 private:
  Services& services_;
  const ServiceBalancer* const balancer_;  ///< null: kube-proxy's rules serve pods
  Reporter& reporter_;
  Writer& writer_;
};

/// Tells that a change waits for long because of its lane.
class LaneRound : public Round {
 public:
  using Find = std::function<std::optional<PacedChanges::Waiting>(const std::string& lane)>;

  LaneRound(Find find, const RoundParts& parts)
      : find_(std::move(find)), reporter_(parts.reporter), writer_(parts.writer) {}

  void Look(const Key& key) override;

 private:
  const Find find_;
  Reporter& reporter_;
  Writer& writer_;
};

}  // namespace kuryr::controller
