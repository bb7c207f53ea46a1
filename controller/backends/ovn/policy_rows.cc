#include "controller/backends/ovn/policy_rows.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/hash.h"
#include "controller/backends/ovn/acl_matches.h"
#include "controller/backends/ovn/northbound/schema.h"

namespace kuryr::controller::ovn {
namespace {

policy::TrafficDirection OppositeOf(policy::TrafficDirection direction) {
  return direction == policy::TrafficDirection::kIngress ? policy::TrafficDirection::kEgress
                                                         : policy::TrafficDirection::kIngress;
}

std::string DropName(const policy::PodSet& set, policy::TrafficDirection direction) {
  return (direction == policy::TrafficDirection::kIngress ? "isolated/ingress/"
                                                          : "isolated/egress/") +
         set;
}

std::string PortIs(policy::TrafficDirection direction, const std::string& group) {
  return (direction == policy::TrafficDirection::kIngress ? "outport == @" : "inport == @") + group;
}

/// Whether one match is of IPv4 packets and the other of IPv6 packets: an ACL of both has no use.
bool Contradict(const std::string& match, const std::string& other) {
  const auto is_of = [](const std::string& text, const char* version) {
    return text.find(version) != std::string::npos;
  };
  return (is_of(match, "ip4") && is_of(other, "ip6")) ||
         (is_of(match, "ip6") && is_of(other, "ip4"));
}

/// An ACL of what pods of the group receive or send. What they send is looked at after OVN's load
/// balancers have chosen an endpoint.
WantedRow AclRow(std::string name, policy::TrafficDirection direction, const std::string& group) {
  const bool is_ingress = direction == policy::TrafficDirection::kIngress;
  WantedRow row = {.key = {kAcl, std::move(name)},
                   .values = {{"direction", is_ingress ? "to-lport" : "from-lport"},
                              {"match", PortIs(direction, group)}}};
  if (!is_ingress) row.maps["options"] = {{"apply-after-lb", "true"}};
  return row;
}

/// What policies allow has no order, so pods of other sets may have another priority.
/// ovn-controller joins the flows of one priority that match the same block. After a change of one
/// port group it reads again the ACLs of all port groups with joined flows.
int AllowPriorityOf(const policy::PodSet& set) {
  return kAllowPriority + static_cast<int>(Hash(set) % kAllowPriorities);
}

void Restrict(WantedRow& row, const std::string& condition) {
  row.values["match"] = row.values["match"].get<std::string>() + " && " + condition;
}

}  // namespace

void PolicyRows::Add(WantedRow row, Rows& rows) {
  RowKey key = row.key;
  rows.insert_or_assign(std::move(key), std::move(row));
}

std::vector<std::string> PolicyRows::MatchesOf(const policy::PolicyRule& rule) const {
  return AclMatches(rule, [this](const policy::PodSet& set) { return GroupName(set); });
}

std::string PolicyRows::GroupName(const policy::PodSet& set) const {
  return "kuryr_" + DigestOf(cluster_ + "/" + set);
}

WantedRow PolicyRows::GroupRow(const policy::PodSet& set) const {
  return {.key = {kPortGroup, set}, .values = {{"name", GroupName(set)}}};
}

WantedRow PolicyRows::DropRow(const policy::PodSet& set, policy::TrafficDirection direction) const {
  WantedRow row = AclRow(DropName(set, direction), direction, GroupName(set));
  row.values["priority"] = kDropPriority;
  row.values["action"] = "drop";
  row.places = {{{kPortGroup, set}, "acls"}};
  Restrict(row, "ip");
  return row;
}

/// OVN tracks the connections of a switch with a stateful ACL alone. Without this ACL the drop of
/// one direction would drop the replies to the other one.
WantedRow PolicyRows::TrackRow(const policy::PodSet& set, policy::TrafficDirection dropped) const {
  WantedRow row = AclRow("tracked/" + DropName(set, dropped), OppositeOf(dropped), GroupName(set));
  row.values["priority"] = kTrackPriority;
  row.values["action"] = "allow-related";
  row.places = {{{kPortGroup, set}, "acls"}};
  Restrict(row, "ip");
  return row;
}

WantedRow PolicyRows::RuleRow(std::string name, const policy::PolicyRule& rule,
                              const std::string& match) const {
  WantedRow row = AclRow(std::move(name), rule.direction, GroupName(rule.subject));
  row.values["action"] = rule.action == policy::PolicyAction::kDeny ? "drop" : "allow-related";
  row.places = {{{kPortGroup, rule.subject}, "acls"}};
  Restrict(row, match);
  return row;
}

void PolicyRows::AddGroups(const policy::PolicyRule& rule, Rows& rows) const {
  Add(GroupRow(rule.subject), rows);
  for (const policy::PodSet& peer : rule.peers) Add(GroupRow(peer), rows);
}

void PolicyRows::AddRule(const std::string& name, const policy::PolicyRule& rule, int priority,
                         Rows& rows) const {
  AddGroups(rule, rows);
  size_t index = 0;
  for (const std::string& match : MatchesOf(rule)) {
    WantedRow row = RuleRow(name + "/" + std::to_string(index++), rule, match);
    row.values["priority"] = priority;
    Add(std::move(row), rows);
  }
}

/// Repeats a row of a set for the traffic that each rule of its direction passes on.
void PolicyRows::AddPassed(const WantedRow& row, policy::TrafficDirection direction,
                           Rows& rows) const {
  const std::string match = row.values.at("match");
  const int priority = row.values.at("priority");
  const policy::PodSet& set = row.places.front().row.name;
  for (const AdminRule& passing : ladder_.rules()) {
    if (passing.rule.action != policy::PolicyAction::kPass || passing.rule.direction != direction)
      continue;
    if (!shared_.Share(set, passing.rule.subject)) continue;
    size_t index = 0;
    for (const std::string& passed : MatchesOf(passing.rule)) {
      const std::string number = std::to_string(index++);
      if (Contradict(match, passed)) continue;
      WantedRow repeated = row;
      repeated.key.name.append("/").append(passing.name).append("/").append(number);
      repeated.values["priority"] = AdminLadder::Within(passing, priority);
      Restrict(repeated, PortIs(direction, GroupName(passing.rule.subject)));
      Restrict(repeated, passed);
      Add(std::move(repeated), rows);
    }
  }
}

/// Admins' policies are for interface eth0, so they pass nothing on to a MultiNetworkPolicy.
void PolicyRows::AddNetworkRows(const std::string& name, const policy::CompiledPolicy& policy,
                                Rows& rows) const {
  Add(GroupRow(policy.subject), rows);
  const auto isolate = [&](policy::TrafficDirection direction) {
    WantedRow drop = DropRow(policy.subject, direction);
    if (!policy.networks) AddPassed(drop, direction, rows);
    Add(std::move(drop), rows);
    Add(TrackRow(policy.subject, direction), rows);
  };
  if (policy.isolates_ingress) isolate(policy::TrafficDirection::kIngress);
  if (policy.isolates_egress) isolate(policy::TrafficDirection::kEgress);
  size_t index = 0;
  for (const policy::PolicyRule& rule : policy.rules) {
    AddGroups(rule, rows);
    for (const std::string& match : MatchesOf(rule)) {
      WantedRow row = RuleRow("policy/" + name + "/" + std::to_string(index++), rule, match);
      row.values["priority"] = kAllowPriority;
      if (!policy.networks) AddPassed(row, rule.direction, rows);
      row.values["priority"] = AllowPriorityOf(rule.subject);
      Add(std::move(row), rows);
    }
  }
}

/// Without connections tracked, a denial would drop replies.
void PolicyRows::AddAdminRows(const std::string& name, Rows& rows) const {
  for (const AdminRule& each : ladder_.rules()) {
    if (each.policy != name) continue;
    const bool passes = each.rule.action == policy::PolicyAction::kPass;
    AddRule(each.name, each.rule, passes ? ladder_.RestOf(each) : each.priority, rows);
    Add(TrackRow(each.rule.subject, each.rule.direction), rows);
  }
  for (const AdminRule& each : ladder_.baseline()) {
    if (each.policy != name) continue;
    Rows own;
    AddRule(each.name, each.rule, each.priority, own);
    for (const auto& [key, row] : own) {
      if (key.table == kAcl) AddPassed(row, each.rule.direction, rows);
    }
    rows.merge(own);
    Add(TrackRow(each.rule.subject, each.rule.direction), rows);
  }
}

PolicyRows::Rows PolicyRows::RowsFor(const std::string& name) const {
  Rows rows;
  const policy::CompiledPolicy& policy = compiled_.at(name);
  if (policy.tier == policy::PolicyTier::kNetwork) {
    AddNetworkRows(name, policy, rows);
  } else {
    AddAdminRows(name, rows);
  }
  return rows;
}

/// Where a rule passes on, all rows depend on the admins' policies.
PolicyRows::Noted PolicyRows::Note(
    const std::map<std::string, std::optional<policy::CompiledPolicy>>& policies) {
  std::set<std::string> changed;
  bool is_admins = false;
  const auto look = [&](const policy::CompiledPolicy& policy) {
    is_admins = is_admins || policy.tier != policy::PolicyTier::kNetwork;
  };
  for (const auto& [name, policy] : policies) {
    changed.insert(name);
    const auto known = compiled_.find(name);
    if (known != compiled_.end()) look(known->second);
    if (policy) look(*policy);
    compiled_.erase(name);
    if (policy) compiled_.emplace(name, *policy);
  }
  if (is_admins) {
    ladder_ = AdminLadder(compiled_);
    std::set<policy::PodSet> passing;
    for (const AdminRule& each : ladder_.rules()) {
      if (each.rule.action == policy::PolicyAction::kPass) passing.insert(each.rule.subject);
    }
    shared_.SetSubjects(std::move(passing));
    for (const auto& [name, policy] : compiled_) changed.insert(name);
  }
  return {.policies = std::move(changed), .is_admins = is_admins};
}

std::set<std::string> PolicyRows::PoliciesFor(const std::set<policy::PodSet>& sets) const {
  std::set<std::string> names;
  for (const auto& [name, policy] : compiled_) {
    const auto& rules = policy.rules;
    if (sets.contains(policy.subject) ||
        std::any_of(rules.begin(), rules.end(),
                    [&](const policy::PolicyRule& rule) { return sets.contains(rule.subject); }))
      names.insert(name);
  }
  return names;
}

PolicyRows::Changes PolicyRows::Take(
    const std::map<std::string, std::optional<policy::CompiledPolicy>>& policies,
    const policy::MemberSets& members) {
  Changes changes;
  Rows wanted;
  std::vector<RowKey> before;
  Noted noted = Note(policies);
  const std::set<policy::PodSet> shared = shared_.Take(members);
  if (!shared.empty()) noted.policies.merge(PoliciesFor(shared));
  for (const std::string& name : noted.policies) {
    std::vector<RowKey>& keys = policies_[name];
    before.insert(before.end(), keys.begin(), keys.end());
    keys.clear();
    if (!compiled_.contains(name)) {
      policies_.erase(name);
      continue;
    }
    Rows rows = RowsFor(name);
    for (const auto& [key, row] : rows) {
      keys.push_back(key);
      if (++uses_[key] == 1 && key.table == kPortGroup) changes.groups.insert(key.name);
    }
    wanted.merge(rows);
  }
  changes.together = noted.is_admins;
  for (const RowKey& key : before) {
    const auto uses = uses_.find(key);
    if (--uses->second > 0) continue;
    uses_.erase(uses);
    changes.dropped.push_back(key);
  }
  changes.wanted.reserve(wanted.size());
  for (auto& [key, row] : wanted) changes.wanted.push_back(std::move(row));
  return changes;
}

std::vector<Place> PolicyRows::PlacesIn(const std::set<policy::PodSet>& sets) const {
  std::vector<Place> places;
  for (const policy::PodSet& set : sets) {
    RowKey group = {kPortGroup, set};
    if (uses_.contains(group)) places.push_back({std::move(group), "ports"});
  }
  return places;
}

const std::vector<RowKey>& PolicyRows::RowsOf(const std::string& name) const {
  static const std::vector<RowKey> kNone;
  const auto rows = policies_.find(name);
  return rows == policies_.end() ? kNone : rows->second;
}

std::set<std::string> PolicyRows::PoliciesWith(const std::vector<RowKey>& rows) const {
  std::set<std::string> policies;
  for (const auto& [name, keys] : policies_) {
    if (std::find_first_of(keys.begin(), keys.end(), rows.begin(), rows.end()) != keys.end())
      policies.insert(name);
  }
  return policies;
}

std::vector<RowKey> PolicyRows::IsolationOf(const std::set<policy::PodSet>& sets) const {
  std::vector<RowKey> rows;
  for (const policy::PodSet& set : sets) {
    for (const auto direction :
         {policy::TrafficDirection::kIngress, policy::TrafficDirection::kEgress}) {
      RowKey row = {kAcl, DropName(set, direction)};
      if (!uses_.contains(row)) continue;
      const std::string repeated = row.name + "/";
      rows.push_back(std::move(row));
      for (auto use = uses_.lower_bound({kAcl, repeated});
           use != uses_.end() && use->first.name.starts_with(repeated); ++use)
        rows.push_back(use->first);
    }
  }
  for (const auto& [name, policy] : compiled_) {
    if (policy.tier == policy::PolicyTier::kNetwork || !sets.contains(policy.subject)) continue;
    const std::vector<RowKey>& all = RowsOf(name);
    std::copy_if(all.begin(), all.end(), std::back_inserter(rows),
                 [](const RowKey& row) { return row.table == kAcl; });
  }
  return rows;
}

bool IsPolicyRow(const RowKey& key) {
  const bool is_of_switch = key.name.starts_with("node/") || key.name.starts_with("pool/");
  return key.table == kPortGroup || (key.table == kAcl && !is_of_switch);
}

}  // namespace kuryr::controller::ovn
