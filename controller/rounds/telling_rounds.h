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

/// Plans nothing: tells an object's user something by Events.
class TellingRound : public Round {
 protected:
  explicit TellingRound(const RoundParts& parts)
      : reporter_(parts.reporter), writer_(parts.writer) {}

  Reporter& reporter_;
  Writer& writer_;
};

/// Tells which part of a policy is not enforced.
class PolicyRound : public TellingRound {
 public:
  PolicyRound(Policies& policies, const RoundParts& parts)
      : TellingRound(parts),
        policies_(policies),
        enforcer_(parts.needs.policies ? parts.backend.facets().policies : nullptr) {}

  void Look(const Key& key) override;

 private:
  Policies& policies_;
  const PolicyEnforcer* const enforcer_;  ///< null: the backend enforces no policy
};

/// Tells why the backend does not balance a Service.
class ServiceRound : public TellingRound {
 public:
  ServiceRound(Services& services, const RoundParts& parts)
      : TellingRound(parts),
        services_(services),
        balancer_(parts.needs.services ? parts.backend.facets().services : nullptr) {}

  void Look(const Key& key) override;

 private:
  Services& services_;
  const ServiceBalancer* const balancer_;  ///< null: kube-proxy's rules serve pods
};

/// Tells that a change waits for long because of its lane.
class LaneRound : public TellingRound {
 public:
  using Find = std::function<std::optional<PacedChanges::Waiting>(const std::string& lane)>;

  LaneRound(Find find, const RoundParts& parts) : TellingRound(parts), find_(std::move(find)) {}

  void Look(const Key& key) override;

 private:
  const Find find_;
};

}  // namespace kuryr::controller
