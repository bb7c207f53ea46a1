#pragma once

#include <functional>
#include <string>
#include <vector>

#include "policy/compiled_policy.h"

namespace kuryr::controller::ovn {

/// The matches of ACLs (ovn-sb(5), Logical_Flow) that together are the rule's peers and ports.
/// `group_of` gives the port group of a set of pods. Each match compares each field with one list.
/// So ovn-controller makes about as many flows as the lists have items. A mixture of fields, and
/// what a list excludes, would make it multiply them.
[[nodiscard]] std::vector<std::string> AclMatches(
    const policy::PolicyRule& rule,
    const std::function<std::string(const policy::PodSet&)>& group_of);

}  // namespace kuryr::controller::ovn
