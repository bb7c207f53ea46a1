#pragma once

#include <map>
#include <set>
#include <string>

#include "base/ip.h"
#include "binding/node/pod_filter.h"
#include "policy/policy_verdicts.h"

namespace kuryr::cni {

/// The node's pods that its kernel forwards for: the addresses of interface eth0, by UID.
using LocalPods = std::map<std::string, std::set<IpAddress>>;

/// What the policies mean for these pods: a chain for each direction in which a policy selects a
/// pod. Pods of the same sets share their chains. Sets of pods keep their names.
[[nodiscard]] binding::Filter FilterOf(const policy::PolicyVerdicts& policies,
                                       const LocalPods& pods);

}  // namespace kuryr::cni
