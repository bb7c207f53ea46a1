#pragma once

#include <map>
#include <set>
#include <string>

namespace kuryr::policy {

/// A member of sets of pods: a pod's interfaces on one network. The pod's UID alone stands for
/// interface eth0, and UID@NETWORK for the interfaces on an additional network. The backend knows
/// these by the pod's plan.
using PolicyMember = std::string;

/// Stands for all additional networks. Its members are all interfaces of a pod but eth0.
inline constexpr const char* kAnyNetwork = "*";

/// The sets that each member is in.
using MemberSets = std::map<PolicyMember, std::set<std::string>>;

/// `network`: a name as InterfaceRequest::network has it; empty for interface eth0.
[[nodiscard]] PolicyMember MemberOf(const std::string& uid, const std::string& network);
/// The UID of the member's pod.
[[nodiscard]] std::string PodOf(const PolicyMember& member);
/// The member's network, as in MemberOf.
[[nodiscard]] std::string NetworkNameOf(const PolicyMember& member);
/// The sets of the pod's interfaces on the network, which is as in MemberOf.
[[nodiscard]] std::set<std::string> SetsOf(const MemberSets& members, const std::string& uid,
                                           const std::string& network);

}  // namespace kuryr::policy
