#pragma once

#include <set>
#include <string>

#include "cni/agent/policy/filter_maker.h"
#include "cni/agent/policy/set_addresses.h"
#include "policy/policy_verdicts.h"

namespace kuryr::cni {

/// What the node has of a pod's policies, for people: the chain of each direction, the policies
/// that it is made of in the words of `kuryr-controller policy`, and the sets that it names.
/// `pod`: the UID at the API server, and the addresses.
[[nodiscard]] std::string DescribePolicies(const policy::PolicyVerdicts& policies,
                                           const SetAddresses& sets,
                                           const LocalPods::value_type& pod);

}  // namespace kuryr::cni
