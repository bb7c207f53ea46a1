#include "controller/backends/ovn/policy_rows.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "controller/backends/ovn/acl_matches.h"
#include "controller/backends/ovn/northbound/schema.h"

namespace kuryr::controller::ovn {
namespace {

constexpr int kTrackPriority = 1;
constexpr int kDropPriority = 1000;
constexpr int kAllowPriority = 1001;
constexpr int kNodePriority = 1002;

TrafficDirection OppositeOf(TrafficDirection direction) {
  return direction == TrafficDirection::kIngress ? TrafficDirection::kEgress
                                                 : TrafficDirection::kIngress;
}

std::string DropName(const PodSet& set, TrafficDirection direction) {
  return (direction == TrafficDirection::kIngress ? "isolated/ingress/" : "isolated/egress/") + set;
}

/// An ACL of what pods of the group receive or send. What they send is looked at after OVN's load
/// balancers have chosen an endpoint.
WantedRow AclRow(std::string name, TrafficDirection direction, const std::string& group) {
  const bool is_ingress = direction == TrafficDirection::kIngress;
  WantedRow row = {.key = {kAcl, std::move(name)},
                   .values = {{"direction", is_ingress ? "to-lport" : "from-lport"},
                              {"match", (is_ingress ? "outport == @" : "inport == @") + group}}};
  if (!is_ingress) row.maps["options"] = {{"apply-after-lb", "true"}};
  return row;
}

void Restrict(WantedRow& row, const std::string& condition) {
  row.values["match"] = row.values["match"].get<std::string>() + " && " + condition;
}

}  // namespace

std::string PolicyRows::GroupName(const PodSet& set) const {
  return "kuryr_" + DigestOf(cluster_ + "/" + set);
}

WantedRow PolicyRows::GroupRow(const PodSet& set) const {
  return {.key = {kPortGroup, set}, .values = {{"name", GroupName(set)}}};
}

WantedRow PolicyRows::DropRow(const PodSet& set, TrafficDirection direction) const {
  WantedRow row = AclRow(DropName(set, direction), direction, GroupName(set));
  row.values["priority"] = kDropPriority;
  row.values["action"] = "drop";
  row.places = {{{kPortGroup, set}, "acls"}};
  Restrict(row, "ip");
  return row;
}

/// OVN tracks the connections of a switch with a stateful ACL alone. Without this ACL the drop of
/// one direction would drop the replies to the other one.
WantedRow PolicyRows::TrackRow(const PodSet& set, TrafficDirection dropped) const {
  WantedRow row = AclRow("tracked/" + DropName(set, dropped), OppositeOf(dropped), GroupName(set));
  row.values["priority"] = kTrackPriority;
  row.values["action"] = "allow-related";
  row.places = {{{kPortGroup, set}, "acls"}};
  Restrict(row, "ip");
  return row;
}

WantedRow PolicyRows::AllowRow(std::string name, const PolicyRule& rule,
                               const std::string& match) const {
  WantedRow row = AclRow(std::move(name), rule.direction, GroupName(rule.subject));
  row.values["priority"] = kAllowPriority;
  row.values["action"] = "allow-related";
  row.places = {{{kPortGroup, rule.subject}, "acls"}};
  Restrict(row, match);
  return row;
}

void PolicyRows::AddRowsOf(const std::string& name, const CompiledPolicy& policy,
                           Rows& rows) const {
  const auto add = [&](WantedRow row) {
    RowKey key = row.key;
    rows.insert_or_assign(std::move(key), std::move(row));
  };
  add(GroupRow(policy.subject));
  const auto isolate = [&](TrafficDirection direction) {
    add(DropRow(policy.subject, direction));
    add(TrackRow(policy.subject, direction));
  };
  if (policy.isolates_ingress) isolate(TrafficDirection::kIngress);
  if (policy.isolates_egress) isolate(TrafficDirection::kEgress);
  size_t index = 0;
  for (const PolicyRule& rule : policy.rules) {
    add(GroupRow(rule.subject));
    for (const PodSet& peer : rule.peers) add(GroupRow(peer));
    for (const std::string& match :
         AclMatches(rule, [this](const PodSet& set) { return GroupName(set); }))
      add(AllowRow("policy/" + name + "/" + std::to_string(index++), rule, match));
  }
}

PolicyRows::Changes PolicyRows::Take(
    const std::map<std::string, std::optional<CompiledPolicy>>& policies) {
  Rows wanted;
  std::vector<RowKey> before;
  for (const auto& [name, policy] : policies) {
    std::vector<RowKey>& keys = policies_[name];
    before.insert(before.end(), keys.begin(), keys.end());
    keys.clear();
    if (!policy) {
      policies_.erase(name);
      continue;
    }
    Rows rows;
    AddRowsOf(name, *policy, rows);
    for (const auto& [key, row] : rows) {
      keys.push_back(key);
      ++uses_[key];
    }
    wanted.merge(rows);
  }
  Changes changes;
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

std::vector<Place> PolicyRows::PlacesIn(const std::set<PodSet>& sets) const {
  std::vector<Place> places;
  for (const PodSet& set : sets) {
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

std::vector<RowKey> PolicyRows::IsolationOf(const std::set<PodSet>& sets) const {
  std::vector<RowKey> rows;
  for (const PodSet& set : sets) {
    for (const auto direction : {TrafficDirection::kIngress, TrafficDirection::kEgress}) {
      RowKey row = {kAcl, DropName(set, direction)};
      if (uses_.contains(row)) rows.push_back(std::move(row));
    }
  }
  return rows;
}

bool IsPolicyRow(const RowKey& key) {
  return key.table == kPortGroup || (key.table == kAcl && !key.name.starts_with("node/"));
}

WantedRow NodeAccessRow(const std::string& on, const vif::VifBase& vif) {
  std::string match;
  for (const IpNetwork& each : vif::AddressesOf(vif)) {
    const char* field = each.address.family == IpFamily::kIpv4 ? "ip4.src == " : "ip6.src == ";
    match.append(match.empty() ? "" : " || ").append(field).append(each.address.ToString());
  }
  return {.key = {kAcl, on},
          .values = {{"direction", "to-lport"},
                     {"match", std::move(match)},
                     {"priority", kNodePriority},
                     {"action", "allow"}},
          .places = {{{kSwitch, on}, "acls"}}};
}

}  // namespace kuryr::controller::ovn
