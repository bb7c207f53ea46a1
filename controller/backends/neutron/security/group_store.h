#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/backends/neutron/api/neutron_api.h"
#include "controller/backends/neutron/security/policy_groups.h"
#include "controller/backends/neutron/settings/pod_defaults.h"

namespace kuryr::controller::neutron {

/// The security groups that Neutron has for this cluster's policies. Each call may fail and be
/// repeated: after a failure that leaves a doubt, `is_listed` is false until List. All calls but
/// Figures' throw NeutronError. Not thread-safe.
class GroupStore {
 public:
  using Rules = PolicyGroups::Rules;
  using Wanted = std::map<GroupName, Rules>;
  /// Why a group, or a rule of it, could not be had.
  using Failures = std::map<GroupName, std::string>;

  /// Borrows both.
  GroupStore(NeutronApi& api, const PodDefaults& defaults) : api_(api), defaults_(defaults) {}

  void List();
  [[nodiscard]] bool is_listed() const noexcept { return is_listed_; }

  struct Outcome {
    Failures failures;
    std::set<GroupName> unfinished;  ///< groups that need a further call
  };
  /// Makes missing groups, and of each group as many missing rules as a request takes: a group of
  /// many rules keeps no other one waiting. Neutron's own rules of a new group go at once: they
  /// would open its pods. Of what Neutron refuses, the rest is made nevertheless.
  [[nodiscard]] Outcome Write(const Wanted& wanted);
  /// Deletes rules of these groups beyond those wanted, a few of each group, and sets missing tags.
  /// Returns the groups that need no further call.
  [[nodiscard]] std::set<GroupName> Clean(const Wanted& wanted);
  /// Deletes the groups that are not in `kept`, and those of kuryr-kubernetes. False: a port or a
  /// rule still names one.
  [[nodiscard]] bool DeleteBut(const std::set<GroupName>& kept);

  /// The ids of groups that may have ports.
  [[nodiscard]] std::map<GroupName, std::string> Ids() const;
  /// The ids of all groups of policies, also of those that are about to go, and of
  /// kuryr-kubernetes' own.
  [[nodiscard]] std::set<std::string> AllIds() const;
  [[nodiscard]] size_t rules() const noexcept;

 private:
  struct Group {
    std::string id;
    bool is_tagged = false;
    bool is_closed = false;                     ///< Neutron's own rules are gone, or wanted
    std::map<SecurityRule, std::string> rules;  ///< ids; `remote_group` is an id
    /// Rules that Neutron gave to the new group: the usual ones of egress, and since 2024.1 those
    /// that an admin has defined. All rules of a group that a killed controller has left new.
    std::set<SecurityRule> initial;
  };

  [[nodiscard]] Rules Translated(const Rules& rules) const;
  void Make(const GroupName& name, Group& group);
  void Close(Group& group, const Rules& wanted);
  [[nodiscard]] bool CleanGroup(Group& group, const Rules& kept);
  /// False: more are missing.
  [[nodiscard]] bool AddRules(Group& group, const Rules& wanted);
  /// Acts on each group, in a few threads, which have ended when this returns. A lasting refusal
  /// becomes a failure of the group; any other error is thrown.
  template <typename Act>
  void ForEach(const Wanted& wanted, Failures& failures, const Act& act);

  NeutronApi& api_;
  const PodDefaults& defaults_;
  bool is_listed_ = false;
  std::map<GroupName, Group> groups_;
  /// Ids of groups whose name another group has, and of kuryr-kubernetes' groups of policies.
  std::set<std::string> surplus_;
};

}  // namespace kuryr::controller::neutron
