#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>

#include "base/ip.h"
#include "binding/node/pod_filter.h"
#include "cni/agent/policy/filter_maker.h"

namespace kuryr::cni {

/// The addresses of the node's pods that had a chain and are gone. Nothing comes from them or goes
/// to them until another pod of the cluster has them: a switch may still hold packets of such a
/// pod, or for it. Not thread-safe.
class ClosedAddresses {
 public:
  /// Closes them in `filter`, which a FilterMaker made of `pods`. Those that these pods have are
  /// open.
  void CloseIn(binding::Filter& filter, const LocalPods& pods);
  /// A pod, of this node or another one, has these addresses: they are open if another one had
  /// them. A pod that is gone may be told of for a while. Returns whether one was closed.
  bool OpenTo(const std::string& uid, const std::set<IpAddress>& addresses);
  /// Opens all, as no policy is left.
  void Clear();

 private:
  struct Closed {
    IpAddress address;
    std::string uid;  ///< of the pod that is gone
  };
  /// The pods' addresses with a chain at the last call, and the pods' UIDs.
  std::map<IpAddress, std::string> chained_;
  std::deque<Closed> closed_;  ///< in the order in which their pods went
};

}  // namespace kuryr::cni
