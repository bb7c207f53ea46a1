#include "controller/backends/neutron/security/group_store.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace kuryr::controller::neutron {
namespace {

using RefusalKind = NeutronError::Kind;

/// Neutron validates each rule, and answers a long request late.
constexpr size_t kMostRules = 50;

/// A rule that Neutron gives to a new group.
bool IsInitial(const SecurityRule& rule) {
  return rule == SecurityRule{.is_ingress = false, .family = rule.family};
}

/// Whether the next request may succeed where this one failed.
bool IsOfObject(const NeutronError& error) {
  return error.kind() == RefusalKind::kQuota || error.kind() == RefusalKind::kBadRequest ||
         error.kind() == RefusalKind::kForbidden;
}

}  // namespace

void GroupStore::List() {
  const auto listed = api_.ListSecurityGroups(
      {.project_id = defaults_.project, .description = MarkOf(defaults_)});
  groups_.clear();
  twins_.clear();
  for (const SecurityGroup& each : listed) {
    if (!IsPolicyGroup(each.name)) continue;
    Group group{.id = each.id};
    group.is_tagged =
        std::all_of(defaults_.tags.begin(), defaults_.tags.end(), [&](const std::string& tag) {
          return std::find(each.tags.begin(), each.tags.end(), tag) != each.tags.end();
        });
    for (const ListedRule& rule : each.rules) group.rules.emplace(rule.rule, rule.id);
    if (!groups_.emplace(each.name, std::move(group)).second) twins_.insert(each.id);
  }
  is_listed_ = true;
}

std::map<GroupName, std::string> GroupStore::Ids() const {
  std::map<GroupName, std::string> ids;
  for (const auto& [name, group] : groups_) {
    if (group.is_closed) ids.emplace(name, group.id);
  }
  return ids;
}

std::set<std::string> GroupStore::AllIds() const {
  std::set<std::string> ids = twins_;
  for (const auto& [name, group] : groups_) ids.insert(group.id);
  return ids;
}

size_t GroupStore::rules() const noexcept {
  size_t count = 0;
  for (const auto& [name, group] : groups_) count += group.rules.size();
  return count;
}

/// Rules of peers whose group Neutron lacks are left out.
GroupStore::Rules GroupStore::Translated(const Rules& rules) const {
  Rules translated;
  for (SecurityRule rule : rules) {
    if (!rule.remote_group.empty()) {
      const auto peer = groups_.find(rule.remote_group);
      if (peer == groups_.end()) continue;
      rule.remote_group = peer->second.id;
    }
    translated.insert(std::move(rule));
  }
  return translated;
}

template <typename Act>
void GroupStore::Try(const GroupName& name, Failures& failures, const Act& act) {
  try {
    act();
  } catch (const NeutronError& e) {
    if (!IsOfObject(e)) {
      is_listed_ = false;
      throw;
    }
    failures.emplace(name, e.what());
  }
}

void GroupStore::Make(const GroupName& name) {
  const SecurityGroup made =
      api_.CreateSecurityGroup({defaults_.project, name, MarkOf(defaults_)});
  Group& group = groups_[name] = {.id = made.id};
  for (const ListedRule& rule : made.rules) group.rules.emplace(rule.rule, rule.id);
}

void GroupStore::Close(Group& group, const Rules& wanted) {
  for (auto rule = group.rules.begin(); rule != group.rules.end();) {
    if (!IsInitial(rule->first) || wanted.contains(rule->first)) {
      ++rule;
      continue;
    }
    api_.DeleteSecurityRule(rule->second);
    rule = group.rules.erase(rule);
  }
  group.is_closed = true;
}

GroupStore::Failures GroupStore::Write(const Wanted& wanted) {
  Failures failures;
  for (const auto& [name, rules] : wanted) {
    Try(name, failures, [&] {
      if (!groups_.contains(name)) Make(name);
      Close(groups_.at(name), rules);
    });
  }
  std::vector<Missing> missing;
  for (const auto& [name, rules] : wanted) {
    const auto group = groups_.find(name);
    if (group == groups_.end()) continue;
    const Rules translated = Translated(rules);
    if (translated.size() < rules.size())
      failures.emplace(name, "Neutron has no security group for a peer");
    for (const SecurityRule& rule : translated) {
      if (!group->second.rules.contains(rule)) missing.push_back({name, {group->second.id, rule}});
    }
  }
  AddRules(missing, failures);
  return failures;
}

/// A request that Neutron refuses is repeated group by group.
void GroupStore::AddRules(const std::vector<Missing>& missing, Failures& failures) {
  for (auto begin = missing.begin(); begin != missing.end();) {
    const auto end = begin + std::min<ptrdiff_t>(kMostRules, missing.end() - begin);
    const std::vector<Missing> some(begin, end);
    Failures refused;
    Try(begin->group, refused, [&] { Post(some); });
    for (auto first = some.begin(); !refused.empty() && first != some.end();) {
      const auto last = std::find_if(first, some.end(), [&](const Missing& each) {
        return each.group != first->group;
      });
      Try(first->group, failures, [&] { Post({first, last}); });
      first = last;
    }
    begin = end;
  }
}

void GroupStore::Post(const std::vector<Missing>& missing) {
  std::vector<SecurityRuleRequest> requests;
  requests.reserve(missing.size());
  for (const Missing& each : missing) requests.push_back(each.request);
  const std::vector<ListedRule> made = api_.CreateSecurityRules(requests);
  for (size_t i = 0; i < made.size(); ++i)
    groups_.at(missing[i].group).rules.emplace(requests[i].rule, made[i].id);
}

void GroupStore::Clean(const Wanted& wanted) {
  for (const auto& [name, rules] : wanted) {
    const auto found = groups_.find(name);
    if (found == groups_.end()) continue;
    Group& group = found->second;
    const Rules kept = Translated(rules);
    for (auto rule = group.rules.begin(); rule != group.rules.end();) {
      if (kept.contains(rule->first)) {
        ++rule;
        continue;
      }
      api_.DeleteSecurityRule(rule->second);
      rule = group.rules.erase(rule);
    }
    if (group.is_tagged) continue;
    api_.SetSecurityGroupTags(group.id, defaults_.tags);
    group.is_tagged = true;
  }
}

bool GroupStore::DeleteBut(const std::set<GroupName>& kept) {
  bool is_done = true;
  const auto remove = [&](const std::string& id) {
    try {
      api_.DeleteSecurityGroup(id);
      return true;
    } catch (const NeutronError& e) {
      if (e.kind() != RefusalKind::kConflict) throw;
      Log(LogLevel::kInfo, "security group still in use; it will be tried again",
          {{"group", id}});
      is_done = false;
      return false;
    }
  };
  std::erase_if(twins_, remove);
  std::erase_if(groups_, [&](const auto& group) {
    return !kept.contains(group.first) && remove(group.second.id);
  });
  return is_done;
}

}  // namespace kuryr::controller::neutron
