#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ip.h"
#include "controller/backends/neutron/api/security_group.h"
#include "policy/compiled_policy.h"

namespace kuryr::controller::neutron {

/// The name of a security group in Neutron. It follows from what the group is for, so that it
/// recognises the group.
using GroupName = std::string;

/// The security groups of policies. A set of pods that a policy names is a group: it has the
/// rules of that subject, and rules name it as a peer. In these rules `remote_group` is a
/// GroupName. Not thread-safe.
class PolicyGroups {
 public:
  using Rules = std::set<SecurityRule>;

  /// Groups that are there without any policy. `open_*` has the rules of the direction that no
  /// policy isolates; `access` lets nodes reach isolated pods: ports in `nodes`, and SetNodeNets'.
  struct Names {
    GroupName open_ingress;
    GroupName open_egress;
    GroupName access;
    GroupName nodes;
  };
  [[nodiscard]] static const Names& names();

  PolicyGroups();
  void SetNodeNets(const std::vector<IpNetwork>& nets);

  struct Changes {
    std::set<GroupName> groups;     ///< that have come, gone, or have other rules
    std::set<policy::PodSet> sets;  ///< whose pods are isolated in other directions than before
  };
  /// Applies changed policies; nullopt: the policy is gone.
  Changes Take(const std::map<std::string, std::optional<policy::CompiledPolicy>>& policies);

  /// nullptr: no policy asks for such a group.
  [[nodiscard]] const Rules* Find(const GroupName& name) const;
  [[nodiscard]] std::set<GroupName> All() const;
  /// Whether a rule names the group.
  [[nodiscard]] bool IsPeer(const GroupName& name) const;

  struct Membership {
    std::vector<GroupName> groups;
    std::vector<GroupName> isolating;  ///< those of `groups` without which its pod gets no plan
    [[nodiscard]] bool is_isolated() const noexcept { return !isolating.empty(); }
  };
  /// The groups of a port in these sets. An isolated port has no other groups, and with
  /// `has_access` nodes reach it.
  [[nodiscard]] Membership Of(const std::set<policy::PodSet>& sets, bool has_access) const;

  /// The policies that a group is for, by NAMESPACE/NAME.
  [[nodiscard]] std::set<std::string> PoliciesOf(const GroupName& name) const;

 private:
  /// The groups and rules that one policy asks for.
  struct Wants {
    std::map<GroupName, Rules> groups;
    policy::PodSet subject;
    bool isolates_ingress = false;
    bool isolates_egress = false;
  };
  struct Group {
    std::set<std::string> policies;
    std::map<SecurityRule, size_t> uses;
    Rules rules;  ///< those in `uses`
  };
  struct Isolation {
    size_t ingress = 0;  ///< the number of policies
    size_t egress = 0;
  };

  [[nodiscard]] static Wants WantsOf(const policy::CompiledPolicy& policy);
  void Add(const std::string& policy, const Wants& wants);
  void Remove(const std::string& policy, const Wants& wants);
  [[nodiscard]] std::pair<bool, bool> DirectionsOf(const policy::PodSet& set) const;

  std::map<std::string, Wants> policies_;  ///< by NAMESPACE/NAME
  std::map<GroupName, Group> groups_;
  std::map<GroupName, size_t> peers_;  ///< the number of rules that name the group
  std::map<GroupName, Rules> fixed_;
  std::map<policy::PodSet, Isolation> isolations_;
};

/// The name of the group of a set of pods: its digest, and the set as far as there is room.
[[nodiscard]] GroupName GroupNameOf(const policy::PodSet& set);
/// Whether GroupNameOf or PolicyGroups::names() may have made the name.
[[nodiscard]] bool IsPolicyGroup(const GroupName& name);

}  // namespace kuryr::controller::neutron
