#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/rounds/round.h"

namespace kuryr::controller {

/// The steps of a round that are alike for every owner of a plan. Each worker has its own: it is
/// not thread-safe, and the parts are.
class OwnerRound {
 public:
  explicit OwnerRound(const RoundParts& parts) : parts_(parts) {}

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
};

}  // namespace kuryr::controller
