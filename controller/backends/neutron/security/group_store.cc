#include "controller/backends/neutron/security/group_store.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/thread_annotations.h"

namespace kuryr::controller::neutron {
namespace {

using RefusalKind = NeutronError::Kind;

/// Neutron validates each rule, and answers a long request late.
constexpr size_t kMostRules = 50;
/// Each takes a request.
constexpr size_t kMostDeleted = 20;
constexpr size_t kMostThreads = 8;
/// The description of a group that kuryr-kubernetes made for a policy begins so, and in releases
/// before KuryrPorts.
constexpr const char* kFormerMark = "Kuryr-Kubernetes Network Policy ";
constexpr const char* kOldMark = "Kuryr-Kubernetes NetPolicy SG";

std::set<SecurityRule> RulesOf(const SecurityGroup& group) {
  std::set<SecurityRule> rules;
  for (const ListedRule& listed : group.rules) rules.insert(listed.rule);
  return rules;
}

/// Whether the next request may succeed where this one failed.
bool IsOfObject(const NeutronError& error) {
  return error.kind() == RefusalKind::kQuota || error.kind() == RefusalKind::kBadRequest ||
         error.kind() == RefusalKind::kForbidden;
}

}  // namespace

void GroupStore::List() {
  const auto listed =
      api_.ListSecurityGroups({.project_id = defaults_.project, .description = MarkOf(defaults_)});
  groups_.clear();
  surplus_.clear();
  for (const SecurityGroup& each : listed) {
    if (!IsPolicyGroup(each.name)) continue;
    Group group{.id = each.id};
    group.is_tagged =
        std::all_of(defaults_.tags.begin(), defaults_.tags.end(), [&](const std::string& tag) {
          return std::find(each.tags.begin(), each.tags.end(), tag) != each.tags.end();
        });
    for (const ListedRule& rule : each.rules) group.rules.emplace(rule.rule, rule.id);
    // The tags of a new group come last.
    if (!group.is_tagged) group.initial = RulesOf(each);
    if (!groups_.emplace(each.name, std::move(group)).second) surplus_.insert(each.id);
  }
  const auto tagged =
      api_.ListSecurityGroups({.project_id = defaults_.project, .tags = defaults_.tags});
  for (const SecurityGroup& each : tagged) {
    const bool is_former =
        each.description.starts_with(kFormerMark) || each.description.starts_with(kOldMark);
    if (is_former) surplus_.insert(each.id);
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
  std::set<std::string> ids = surplus_;
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
void GroupStore::ForEach(const Wanted& wanted, Failures& failures, const Act& act) {
  Mutex mutex;
  auto next = wanted.begin();
  std::exception_ptr error;
  const auto take = [&]() -> const Wanted::value_type* {
    const MutexLock lock(mutex);
    return next == wanted.end() || error ? nullptr : &*next++;
  };
  const auto work = [&] {
    while (const auto* const each = take()) {
      try {
        act(each->first, each->second);
      } catch (const NeutronError& e) {
        const MutexLock lock(mutex);
        if (IsOfObject(e)) {
          failures.emplace(each->first, e.what());
        } else {
          error = std::current_exception();
        }
      } catch (...) {
        const MutexLock lock(mutex);
        error = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < std::min(kMostThreads, wanted.size()); ++i) others.emplace_back(work);
    work();
  }
  if (!error) return;
  is_listed_ = false;
  std::rethrow_exception(error);
}

void GroupStore::Make(const GroupName& name, Group& group) {
  const SecurityGroup made = api_.CreateSecurityGroup({defaults_.project, name, MarkOf(defaults_)});
  group.id = made.id;
  for (const ListedRule& rule : made.rules) group.rules.emplace(rule.rule, rule.id);
  group.initial = RulesOf(made);
}

void GroupStore::Close(Group& group, const Rules& wanted) {
  for (auto rule = group.rules.begin(); rule != group.rules.end();) {
    if (!group.initial.contains(rule->first) || wanted.contains(rule->first)) {
      ++rule;
      continue;
    }
    api_.DeleteSecurityRule(rule->second);
    rule = group.rules.erase(rule);
  }
  group.is_closed = true;
}

GroupStore::Outcome GroupStore::Write(const Wanted& wanted) {
  Outcome outcome;
  Failures& failures = outcome.failures;
  // Each thread changes the group that it acts on, and no other.
  for (const auto& [name, rules] : wanted) groups_.try_emplace(name);
  ForEach(wanted, failures, [this](const GroupName& name, const Rules& rules) {
    Group& group = groups_.at(name);
    if (group.id.empty()) Make(name, group);
    Close(group, rules);
  });
  std::erase_if(groups_, [](const auto& group) { return group.second.id.empty(); });
  Wanted known = wanted;
  std::erase_if(known, [&](const auto& each) { return !groups_.contains(each.first); });
  Mutex mutex;
  ForEach(known, failures, [&](const GroupName& name, const Rules& rules) {
    if (AddRules(groups_.at(name), Translated(rules))) return;
    const MutexLock lock(mutex);
    outcome.unfinished.insert(name);
  });
  for (const auto& [name, rules] : known) {
    if (Translated(rules).size() < rules.size())
      failures.emplace(name, "Neutron has no security group for a peer");
  }
  return outcome;
}

/// Neutron takes the rules of one group in a request.
bool GroupStore::AddRules(Group& group, const Rules& wanted) {
  std::vector<SecurityRuleRequest> missing;
  bool is_all = true;
  for (const SecurityRule& rule : wanted) {
    if (group.rules.contains(rule)) continue;
    is_all = missing.size() < kMostRules;
    if (!is_all) break;
    missing.push_back({group.id, rule});
  }
  if (missing.empty()) return true;
  const std::vector<ListedRule> made = api_.CreateSecurityRules(missing);
  for (size_t i = 0; i < made.size(); ++i) group.rules.emplace(missing[i].rule, made[i].id);
  return is_all;
}

std::set<GroupName> GroupStore::Clean(const Wanted& wanted) {
  std::set<GroupName> cleaned;
  for (const auto& [name, rules] : wanted) {
    const auto found = groups_.find(name);
    if (found == groups_.end() || CleanGroup(found->second, Translated(rules)))
      cleaned.insert(name);
  }
  return cleaned;
}

bool GroupStore::CleanGroup(Group& group, const Rules& kept) {
  size_t deleted = 0;
  for (auto rule = group.rules.begin(); rule != group.rules.end();) {
    if (kept.contains(rule->first)) {
      ++rule;
      continue;
    }
    if (deleted++ == kMostDeleted) return false;
    api_.DeleteSecurityRule(rule->second);
    rule = group.rules.erase(rule);
  }
  if (!group.is_tagged) api_.SetSecurityGroupTags(group.id, defaults_.tags);
  group.is_tagged = true;
  return true;
}

bool GroupStore::DeleteBut(const std::set<GroupName>& kept) {
  bool is_done = true;
  const auto remove = [&](const std::string& id) {
    try {
      api_.DeleteSecurityGroup(id);
      return true;
    } catch (const NeutronError& e) {
      if (e.kind() != RefusalKind::kConflict) throw;
      Log(LogLevel::kInfo, "security group still in use; it will be tried again", {{"group", id}});
      is_done = false;
      return false;
    }
  };
  std::erase_if(surplus_, remove);
  std::erase_if(groups_, [&](const auto& group) {
    return !kept.contains(group.first) && remove(group.second.id);
  });
  return is_done;
}

}  // namespace kuryr::controller::neutron
