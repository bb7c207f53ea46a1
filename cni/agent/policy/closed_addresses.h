#pragma once

#include <deque>
#include <set>

#include "base/ip.h"
#include "binding/node/pod_filter.h"
#include "cni/agent/policy/filter_of.h"

namespace kuryr::cni {

/// The addresses of the node's pods that had a chain and are gone. Nothing comes from them or goes
/// to them until another pod has them: a switch may still hold packets of such a pod, or for it.
/// Not thread-safe.
class ClosedAddresses {
 public:
  /// Closes them in `filter`, which FilterOf made of `pods`.
  void CloseIn(binding::Filter& filter, const LocalPods& pods);
  /// Opens all, as no policy is left.
  void Clear();

 private:
  std::set<IpAddress> chained_;   ///< pods' addresses with a chain, at the last call
  std::deque<IpAddress> closed_;  ///< in the order in which their pods went
};

}  // namespace kuryr::cni
