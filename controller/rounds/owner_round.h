#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/node_network_options.h"
#include "controller/backends/backend_factory.h"
#include "controller/cluster/node_store.h"
#include "controller/cluster/service_cidrs.h"
#include "controller/owners/writer.h"
#include "controller/rounds/reporter.h"
#include "controller/rounds/round_metrics.h"
#include "controller/rounds/workers.h"

namespace kuryr::controller {

/// The parts that the rounds of all owners share. All borrowed.
struct RoundParts {
  Backend& backend;
  RoundQueue& queue;
  Reporter& reporter;
  RoundMetrics& metrics;
  NodeStore& nodes;
  const NodeNetworkOptions& node_network;
  const ServiceCidrs& service_cidrs;
  BackendNeeds needs;
  std::function<void()> ask_for_absent;  ///< a resource that was absent may be there now
};

/// The steps of a round that are alike for every owner of a plan. Each worker has its own: it is
/// not thread-safe, and the parts are.
class OwnerRound {
 public:
  /// Borrows the writer.
  OwnerRound(const RoundParts& parts, Writer& writer) : parts_(parts), writer_(writer) {}

  /// Releases the deleted owners of this key. The key comes again while the backend works on it.
  template <typename Store>
  void ReleaseGone(Store& store, const Key& key, const std::vector<std::string>& gone) {
    for (const std::string& uid : gone) {
      if (parts_.backend.Release(uid)) {
        store.ForgetGone(key.object, uid);
      } else {
        parts_.queue.AddRateLimited(key);
      }
    }
  }

  /// Calls `look`, which looks at the owner. Reports why the owner gets no plan, and has the key
  /// come again when asking again may help. Throws what Writer does, where the round is to come
  /// again at once.
  void Try(const Key& key, const Owner& owner, const std::function<void()>& look);

  /// Marks the VIFs active if traffic may pass through them. False: it may not yet, and the backend
  /// wakes the owner.
  bool Activate(const Owner& owner, std::vector<vif::PodVif>& vifs);

 private:
  void Retry(const Key& key, const PlanError& error);

  const RoundParts parts_;
  Writer& writer_;
};

}  // namespace kuryr::controller
