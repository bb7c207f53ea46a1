#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/backends/ovn/admin_ladder.h"
#include "controller/backends/ovn/northbound/wanted_row.h"
#include "controller/backends/ovn/shared_pods.h"
#include "policy/compiled_policy.h"

namespace kuryr::controller::ovn {

/// The rows of NetworkPolicies and MultiNetworkPolicies. A set of pods is a port group; ovn-northd
/// keeps its addresses as address sets (ovn-nb(5), Port_Group). A policy's rules are ACLs of the
/// port groups of their subjects. One ACL for each direction drops the rest for pods that a policy
/// isolates. Pods' ports are in the port groups by their own rows' places. Not thread-safe.
class PolicyRows {
 public:
  explicit PolicyRows(std::string cluster) : cluster_(std::move(cluster)) {}

  struct Changes {
    std::vector<WantedRow> wanted;
    std::vector<RowKey> dropped;
    std::set<policy::PodSet> groups;  ///< sets whose port groups are new
    bool together = false;  ///< rows of one transaction: in between, another order would hold
  };
  /// Applies changed policies and members of sets, as PolicyChanges has them.
  [[nodiscard]] Changes Take(
      const std::map<std::string, std::optional<policy::CompiledPolicy>>& policies,
      const policy::MemberSets& members = {});

  /// The sets that each member is in.
  [[nodiscard]] const policy::MemberSets& members() const noexcept { return shared_.members(); }

  /// The places of a port of a pod in these sets. A set that no policy names has none.
  [[nodiscard]] std::vector<Place> PlacesIn(const std::set<policy::PodSet>& sets) const;
  /// The rows of the policy NAMESPACE/NAME; none if it is not known.
  [[nodiscard]] const std::vector<RowKey>& RowsOf(const std::string& name) const;
  /// The policies that have one of the rows, by NAMESPACE/NAME.
  [[nodiscard]] std::set<std::string> PoliciesWith(const std::vector<RowKey>& rows) const;
  /// The rows without which a pod in these sets would not be isolated.
  [[nodiscard]] std::vector<RowKey> IsolationOf(const std::set<policy::PodSet>& sets) const;

 private:
  using Rows = std::map<RowKey, WantedRow>;

  [[nodiscard]] std::string GroupName(const policy::PodSet& set) const;
  [[nodiscard]] std::vector<std::string> MatchesOf(const policy::PolicyRule& rule) const;
  /// The rows of a policy that is known, and of the sets that it names.
  [[nodiscard]] Rows RowsFor(const std::string& name) const;
  void AddNetworkRows(const std::string& name, const policy::CompiledPolicy& policy,
                      Rows& rows) const;
  void AddAdminRows(const std::string& name, Rows& rows) const;
  static void Add(WantedRow row, Rows& rows);
  void AddGroups(const policy::PolicyRule& rule, Rows& rows) const;
  void AddRule(const std::string& name, const policy::PolicyRule& rule, int priority,
               Rows& rows) const;
  void AddPassed(const WantedRow& row, policy::TrafficDirection direction, Rows& rows) const;
  [[nodiscard]] WantedRow GroupRow(const policy::PodSet& set) const;
  [[nodiscard]] WantedRow DropRow(const policy::PodSet& set,
                                  policy::TrafficDirection direction) const;
  [[nodiscard]] WantedRow TrackRow(const policy::PodSet& set,
                                   policy::TrafficDirection dropped) const;
  [[nodiscard]] WantedRow RuleRow(std::string name, const policy::PolicyRule& rule,
                                  const std::string& match) const;
  struct Noted {
    std::set<std::string> policies;  ///< whose rows may change
    bool is_admins = false;          ///< a policy of an admin has changed
  };
  /// Learns the policies.
  [[nodiscard]] Noted Note(
      const std::map<std::string, std::optional<policy::CompiledPolicy>>& policies);
  /// The policies that have rows for one of the sets.
  [[nodiscard]] std::set<std::string> PoliciesFor(const std::set<policy::PodSet>& sets) const;

  const std::string cluster_;
  std::map<std::string, policy::CompiledPolicy> compiled_;  ///< as PolicyChanges has them
  AdminLadder ladder_;
  SharedPods shared_;
  std::map<std::string, std::vector<RowKey>> policies_;  ///< the rows of each policy
  std::map<RowKey, size_t> uses_;                        ///< how many policies have the row
};

/// Whether PolicyRows makes rows of this kind.
[[nodiscard]] bool IsPolicyRow(const RowKey& key);

}  // namespace kuryr::controller::ovn
