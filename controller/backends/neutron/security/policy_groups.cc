#include "controller/backends/neutron/security/policy_groups.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.h"

namespace kuryr::controller::neutron {
namespace {

constexpr const char* kGroupPrefix = "kuryr-policy ";
constexpr size_t kLongestName = 255;
constexpr std::array kFamilies = {IpFamily::kIpv4, IpFamily::kIpv6};

PolicyGroups::Rules OpenRules(bool is_ingress) {
  PolicyGroups::Rules rules;
  for (const IpFamily family : kFamilies)
    rules.insert({.is_ingress = is_ingress, .family = family});
  return rules;
}

/// The rules of one policy's rule for all ports.
std::vector<SecurityRule> PeerRules(const policy::PolicyRule& rule) {
  const bool is_ingress = rule.direction == policy::TrafficDirection::kIngress;
  std::vector<SecurityRule> rules;
  const auto add = [&](IpFamily family) -> SecurityRule& {
    return rules.emplace_back(SecurityRule{.is_ingress = is_ingress, .family = family});
  };
  for (const IpFamily family : kFamilies) {
    if (rule.any_peer) add(family);
    for (const policy::PodSet& peer : rule.peers) add(family).remote_group = GroupNameOf(peer);
  }
  for (const IpNetwork& network : rule.networks) {
    SecurityRule& added = add(network.address.family);
    if (network.prefix_length > 0) added.remote_net = network;
  }
  return rules;
}

/// Neutron has no port 0, and no number for all ports.
void TakeRange(const policy::PortRange& range, SecurityRule& rule) {
  rule.protocol = range.protocol;
  if (range.first <= 1 && range.last == UINT16_MAX) return;
  rule.first_port = std::max<uint16_t>(range.first, 1);
  rule.last_port = range.last;
}

void AddRules(const policy::PolicyRule& rule, PolicyGroups::Rules& rules) {
  for (SecurityRule& each : PeerRules(rule)) {
    if (rule.any_port) rules.insert(each);
    for (const policy::PortRange& range : rule.ports) {
      if (range.last == 0) continue;
      TakeRange(range, each);
      rules.insert(each);
      each.first_port = each.last_port = 0;
    }
  }
}

}  // namespace

GroupName GroupNameOf(const policy::PodSet& set) {
  return (kGroupPrefix + DigestOf(set) + " " + set).substr(0, kLongestName);
}

bool IsPolicyGroup(const GroupName& name) { return name.starts_with(kGroupPrefix); }

const PolicyGroups::Names& PolicyGroups::names() {
  // In the order of names, which is that of requests, these come before all digests.
  static const Names kNames = {.open_ingress = std::string(kGroupPrefix) + "(open ingress)",
                               .open_egress = std::string(kGroupPrefix) + "(open egress)",
                               .access = std::string(kGroupPrefix) + "(access of nodes)",
                               .nodes = std::string(kGroupPrefix) + "(nodes)"};
  return kNames;
}

PolicyGroups::PolicyGroups()
    : fixed_({{names().open_ingress, OpenRules(true)},
              {names().open_egress, OpenRules(false)},
              {names().nodes, {}}}) {
  SetNodeNets({});
}

void PolicyGroups::SetNodeNets(const std::vector<IpNetwork>& nets) {
  Rules& access = fixed_[names().access];
  access.clear();
  for (const IpFamily family : kFamilies)
    access.insert({.is_ingress = true, .family = family, .remote_group = names().nodes});
  for (const IpNetwork& net : nets)
    access.insert({.is_ingress = true, .family = net.address.family, .remote_net = net});
}

PolicyGroups::Wants PolicyGroups::WantsOf(const policy::CompiledPolicy& policy) {
  Wants wants{.subject = policy.subject,
              .isolates_ingress = policy.isolates_ingress,
              .isolates_egress = policy.isolates_egress};
  wants.groups[GroupNameOf(policy.subject)];
  for (const policy::PolicyRule& rule : policy.rules) {
    for (const policy::PodSet& peer : rule.peers) wants.groups[GroupNameOf(peer)];
    AddRules(rule, wants.groups[GroupNameOf(rule.subject)]);
  }
  return wants;
}

void PolicyGroups::Add(const std::string& policy, const Wants& wants) {
  for (const auto& [name, rules] : wants.groups) {
    Group& group = groups_[name];
    group.policies.insert(policy);
    for (const SecurityRule& rule : rules) {
      if (++group.uses[rule] > 1) continue;
      group.rules.insert(rule);
      ++peers_[rule.remote_group];
    }
  }
  Isolation& isolation = isolations_[wants.subject];
  isolation.ingress += wants.isolates_ingress ? 1 : 0;
  isolation.egress += wants.isolates_egress ? 1 : 0;
}

void PolicyGroups::Remove(const std::string& policy, const Wants& wants) {
  for (const auto& [name, rules] : wants.groups) {
    Group& group = groups_.at(name);
    group.policies.erase(policy);
    for (const SecurityRule& rule : rules) {
      if (--group.uses.at(rule) > 0) continue;
      group.uses.erase(rule);
      group.rules.erase(rule);
      if (--peers_.at(rule.remote_group) == 0) peers_.erase(rule.remote_group);
    }
    if (group.policies.empty()) groups_.erase(name);
  }
  Isolation& isolation = isolations_.at(wants.subject);
  isolation.ingress -= wants.isolates_ingress ? 1 : 0;
  isolation.egress -= wants.isolates_egress ? 1 : 0;
  if (isolation.ingress == 0 && isolation.egress == 0) isolations_.erase(wants.subject);
}

std::pair<bool, bool> PolicyGroups::DirectionsOf(const policy::PodSet& set) const {
  const auto isolation = isolations_.find(set);
  if (isolation == isolations_.end()) return {false, false};
  return {isolation->second.ingress > 0, isolation->second.egress > 0};
}

PolicyGroups::Changes PolicyGroups::Take(
    const std::map<std::string, std::optional<policy::CompiledPolicy>>& policies) {
  Changes changes;
  std::map<policy::PodSet, std::pair<bool, bool>> before;
  const auto note = [&](const Wants& wants) {
    for (const auto& [name, rules] : wants.groups) changes.groups.insert(name);
    before.emplace(wants.subject, DirectionsOf(wants.subject));
  };
  for (const auto& [name, policy] : policies) {
    const auto known = policies_.find(name);
    std::optional<Wants> wants;
    if (policy) note(wants.emplace(WantsOf(*policy)));
    if (known != policies_.end()) {
      note(known->second);
      Remove(name, known->second);
      policies_.erase(known);
    }
    if (!wants) continue;
    Add(name, *wants);
    policies_.emplace(name, std::move(*wants));
  }
  for (const auto& [set, directions] : before) {
    if (directions != DirectionsOf(set)) changes.sets.insert(set);
  }
  return changes;
}

const PolicyGroups::Rules* PolicyGroups::Find(const GroupName& name) const {
  if (const auto fixed = fixed_.find(name); fixed != fixed_.end()) return &fixed->second;
  const auto group = groups_.find(name);
  return group == groups_.end() ? nullptr : &group->second.rules;
}

std::set<GroupName> PolicyGroups::All() const {
  std::set<GroupName> all;
  for (const auto& [name, rules] : fixed_) all.insert(name);
  for (const auto& [name, group] : groups_) all.insert(name);
  return all;
}

bool PolicyGroups::IsPeer(const GroupName& name) const {
  return name == names().nodes || peers_.contains(name);
}

PolicyGroups::Membership PolicyGroups::Of(const std::set<policy::PodSet>& sets,
                                          bool has_access) const {
  Membership membership;
  bool isolates_ingress = false;
  bool isolates_egress = false;
  for (const policy::PodSet& set : sets) {
    GroupName name = GroupNameOf(set);
    if (!groups_.contains(name)) continue;
    const auto [ingress, egress] = DirectionsOf(set);
    if (ingress || egress) membership.isolating.push_back(name);
    isolates_ingress = isolates_ingress || ingress;
    isolates_egress = isolates_egress || egress;
    membership.groups.push_back(std::move(name));
  }
  if (!membership.is_isolated()) return membership;
  const auto add = [&](const GroupName& name) {
    membership.groups.push_back(name);
    membership.isolating.push_back(name);
  };
  if (has_access) add(names().access);
  if (!isolates_ingress) add(names().open_ingress);
  if (!isolates_egress) add(names().open_egress);
  return membership;
}

std::set<std::string> PolicyGroups::PoliciesOf(const GroupName& name) const {
  const auto group = groups_.find(name);
  return group == groups_.end() ? std::set<std::string>() : group->second.policies;
}

}  // namespace kuryr::controller::neutron
