#include "controller/backends/neutron/security/port_sets.h"

#include <algorithm>

namespace kuryr::controller::neutron {

void PortSets::Take(const policy::MemberSets& changes) {
  for (const auto& [member, sets] : changes) {
    if (sets.empty()) {
      members_.erase(member);
    } else {
      members_[member] = sets;
    }
  }
}

bool PortSets::IsOn(const PolicedPort& port, const std::string& network) const {
  if (network.empty() || !port.is_additional()) return network.empty() && !port.is_additional();
  if (network == policy::kAnyNetwork) return true;
  const auto pool = defaults_.pools.find(network);
  if (pool == defaults_.pools.end()) return port.subnets.contains(network);
  return std::any_of(pool->second.ids.begin(), pool->second.ids.end(),
                     [&](const std::string& id) { return port.subnets.contains(id); });
}

std::vector<policy::MemberSets::const_iterator> PortSets::MembersOf(
    const std::string& pod_uid) const {
  std::vector<policy::MemberSets::const_iterator> members;
  for (auto member = members_.lower_bound(pod_uid);
       member != members_.end() && member->first.starts_with(pod_uid); ++member) {
    if (policy::PodOf(member->first) == pod_uid) members.push_back(member);
  }
  return members;
}

std::set<policy::PodSet> PortSets::Of(const std::string& pod_uid, const PolicedPort& port) const {
  std::set<policy::PodSet> sets;
  for (const auto& member : MembersOf(pod_uid)) {
    if (IsOn(port, policy::NetworkNameOf(member->first)))
      sets.insert(member->second.begin(), member->second.end());
  }
  return sets;
}

bool PortSets::AnyOf(const std::string& pod_uid, const Passes& passes) const {
  const auto members = MembersOf(pod_uid);
  return std::any_of(members.begin(), members.end(),
                     [&](const auto& member) { return passes(member->second); });
}

std::set<std::string> PortSets::PodsWith(const Passes& passes) const {
  std::set<std::string> pods;
  for (const auto& [member, sets] : members_) {
    if (passes(sets)) pods.insert(policy::PodOf(member));
  }
  return pods;
}

}  // namespace kuryr::controller::neutron
