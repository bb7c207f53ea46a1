#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/ip.h"
#include "binding/node/pod_filter.h"
#include "policy/policy_verdicts.h"

namespace kuryr::cni {

/// The node's pods that its kernel forwards for: the addresses of interface eth0, by UID.
using LocalPods = std::map<std::string, std::set<IpAddress>>;

/// Makes what the policies mean for the node's pods: a chain for each direction in which a policy
/// selects a pod. Pods of the same sets share their chains. Sets of pods keep their names. Chains
/// are kept until a policy that selects their pods changes. Not thread-safe.
class FilterMaker {
 public:
  /// `policies` are about to take these changes.
  void Forget(const policy::PolicyVerdicts& policies, const policy::PolicyChanges& changes);
  [[nodiscard]] binding::Filter Make(const policy::PolicyVerdicts& policies, const LocalPods& pods);

 private:
  /// The chains of pods in the same sets, and those that their packets meet first.
  struct Chains {
    binding::FilterChains all;
    std::optional<std::string> sent;
    std::optional<std::string> received;
  };
  std::map<std::set<policy::PodSet>, Chains> kept_;
};

}  // namespace kuryr::cni
