#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/controller/backends/neutron/fake_neutron.h"

namespace kuryr::controller::neutron {
namespace {

using GroupError = NeutronError::Kind;

/// Groups with other names are the project's own.
bool IsMade(const std::string& id) { return id.starts_with("5ec00000-"); }

}  // namespace

void FakeNeutron::SetGroupQuota(size_t groups, size_t rules) {
  const MutexLock lock(mutex_);
  group_quota_ = groups;
  rule_quota_ = rules;
}

void FakeNeutron::SetDefaultRule(const SecurityRule& rule) {
  const MutexLock lock(mutex_);
  default_rule_ = rule;
}

std::vector<SecurityGroup> FakeNeutron::AllGroups() const {
  std::vector<SecurityGroup> all;
  for (const auto& [id, group] : groups_) all.push_back(group);
  return all;
}

std::vector<SecurityGroup> FakeNeutron::groups() const {
  const MutexLock lock(mutex_);
  return AllGroups();
}

bool FakeNeutron::WaitUntilGroups(
    const std::function<bool(const std::vector<SecurityGroup>&)>& condition) {
  const MutexLock lock(mutex_);
  return changed_.wait_for(
      mutex_, std::chrono::seconds(30),
      [&]() KURYR_TSA(requires_capability(mutex_)) { return condition(AllGroups()); });
}

SecurityGroup& FakeNeutron::GroupAt(const std::string& id) {
  const auto group = groups_.find(id);
  if (group == groups_.end())
    Refuse(GroupError::kNotFound, 404, kNoSecurityGroup, "Security group " + id);
  return group->second;
}

void FakeNeutron::RequireGroups(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    if (IsMade(id)) (void)GroupAt(id);
  }
}

ListedRule FakeNeutron::AddRule(SecurityGroup& group, const SecurityRule& rule) {
  size_t count = 0;
  for (const auto& [id, each] : groups_) count += each.rules.size();
  if (count >= rule_quota_)
    Refuse(GroupError::kQuota, 409, "OverQuota",
           "Quota exceeded for resources: ['security_group_rule'].");
  const bool has_it = std::any_of(group.rules.begin(), group.rules.end(),
                                  [&](const ListedRule& listed) { return listed.rule == rule; });
  if (has_it)
    Refuse(GroupError::kConflict, 409, "SecurityGroupRuleExists",
           "Security group rule already exists.");
  if (!rule.remote_group.empty()) (void)GroupAt(rule.remote_group);
  char id[40];
  (void)std::snprintf(id, sizeof id, "5ec00001-2c0d-4cd2-89de-%012x", ++made_);
  return group.rules.emplace_back(ListedRule{.id = id, .rule = rule});
}

std::vector<SecurityGroup> FakeNeutron::ListSecurityGroups(const SecurityGroupFilter& filter) {
  return Call("ListSecurityGroups", [&]() KURYR_TSA(requires_capability(mutex_)) {
    std::vector<SecurityGroup> found = AllGroups();
    std::erase_if(found, [&](const SecurityGroup& group) {
      const bool is_tagged =
          std::all_of(filter.tags.begin(), filter.tags.end(), [&](const std::string& tag) {
            return std::find(group.tags.begin(), group.tags.end(), tag) != group.tags.end();
          });
      return !is_tagged || (!filter.description.empty() && group.description != filter.description);
    });
    return found;
  });
}

SecurityGroup FakeNeutron::CreateSecurityGroup(const SecurityGroupRequest& request) {
  return Call("CreateSecurityGroup", [&]() KURYR_TSA(requires_capability(mutex_)) {
    if (groups_.size() >= group_quota_)
      Refuse(GroupError::kQuota, 409, "OverQuota",
             "Quota exceeded for resources: ['security_group'].");
    char id[40];
    (void)std::snprintf(id, sizeof id, "5ec00000-2c0d-4cd2-89de-%012x", ++made_);
    SecurityGroup& group =
        groups_[id] = {.id = id, .name = request.name, .description = request.description};
    AddRule(group, {.is_ingress = false, .family = IpFamily::kIpv4});
    AddRule(group, {.is_ingress = false, .family = IpFamily::kIpv6});
    if (default_rule_) AddRule(group, *default_rule_);
    return group;
  });
}

void FakeNeutron::SetSecurityGroupTags(const std::string& id,
                                       const std::vector<std::string>& tags) {
  (void)Call("SetSecurityGroupTags", [&]() KURYR_TSA(requires_capability(mutex_)) {
    GroupAt(id).tags = tags;
    return true;
  });
}

/// Rules that name the group as their peer go with it.
void FakeNeutron::DeleteSecurityGroup(const std::string& id) {
  (void)Call("DeleteSecurityGroup", [&]() KURYR_TSA(requires_capability(mutex_)) {
    const bool is_used = std::any_of(ports_.begin(), ports_.end(), [&](const auto& port) {
      const auto& ids = port.second.security_groups;
      return std::find(ids.begin(), ids.end(), id) != ids.end();
    });
    if (is_used)
      Refuse(GroupError::kConflict, 409, "SecurityGroupInUse", "Security Group " + id + " in use.");
    for (auto& [other, group] : groups_) {
      std::erase_if(group.rules,
                    [&](const ListedRule& listed) { return listed.rule.remote_group == id; });
    }
    return groups_.erase(id);
  });
}

std::vector<ListedRule> FakeNeutron::CreateSecurityRules(
    const std::vector<SecurityRuleRequest>& requests) {
  return Call("CreateSecurityRules", [&]() KURYR_TSA(requires_capability(mutex_)) {
    const bool is_of_one = std::all_of(requests.begin(), requests.end(), [&](const auto& request) {
      return request.group_id == requests.front().group_id;
    });
    if (!is_of_one)
      Refuse(GroupError::kBadRequest, 400, "SecurityGroupNotSingleGroupRules",
             "Only allowed to update rules for one security profile at a time");
    const auto before = groups_;
    std::vector<ListedRule> made;
    try {
      for (const SecurityRuleRequest& request : requests)
        made.push_back(AddRule(GroupAt(request.group_id), request.rule));
    } catch (...) {
      groups_ = before;
      throw;
    }
    return made;
  });
}

void FakeNeutron::DeleteSecurityRule(const std::string& id) {
  (void)Call("DeleteSecurityRule", [&]() KURYR_TSA(requires_capability(mutex_)) {
    for (auto& [group_id, group] : groups_)
      std::erase_if(group.rules, [&](const ListedRule& listed) { return listed.id == id; });
    return true;
  });
}

}  // namespace kuryr::controller::neutron
