#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/api/neutron_api.h"
#include "controller/backends/neutron/security/group_store.h"
#include "controller/backends/neutron/security/policed_port.h"
#include "controller/backends/neutron/security/policy_groups.h"
#include "controller/backends/neutron/security/port_sets.h"
#include "controller/backends/neutron/settings/pod_defaults.h"
#include "controller/plan/plan_request.h"
#include "policy/compiled_policy.h"
#include "service/chore.h"

namespace kuryr::controller::neutron {

/// Enforces NetworkPolicies and MultiNetworkPolicies by security groups: docs/policy.md. Run writes
/// groups and rules; then owners' tasks change their ports; then Run deletes what nothing needs any
/// more. Ports change together: all join the groups that rules name as peers before one leaves a
/// group, so that no rule lacks its peers when it begins to count. Run looks at all of Neutron's
/// groups and ports from time to time, as others may change them. Calls its hooks without a lock.
/// Thread-safe, but for Run.
class Isolation {
 public:
  struct Hooks {
    std::function<void()> want_run;  ///< Run is to be called
    /// The owners whose ports have other groups than GroupsOf says, as Neutron lists them.
    std::function<std::set<std::string>()> find_differing;
    /// Has a task of the owner change its ports. False: the owner is not held.
    std::function<bool(const std::string& owner_id)> regroup;
    /// Policies, by NAMESPACE/NAME, of which FindRefusal may say something else now.
    std::function<void(const std::set<std::string>& policies)> tell;
  };
  /// Borrows API and defaults.
  Isolation(NeutronApi& api, const PodDefaults& defaults, Hooks hooks,
            std::chrono::milliseconds look);

  void Enforce(const policy::PolicyChanges& changes) EXCLUDES(mutex_);
  /// No port changes before: its peers may not be held yet.
  void EndAdoption() EXCLUDES(mutex_);
  /// A run of the chore, whose next run it asks for.
  void Run(service::Chore& chore) EXCLUDES(mutex_);

  /// Whether the groups that isolate these ports of the pod are there. If not, `regroup` is called
  /// for it later. PlanError kRetry if Neutron refuses them.
  [[nodiscard]] bool MayPlan(const std::string& pod_uid, const std::vector<PolicedPort>& ports)
      EXCLUDES(mutex_);
  /// Whether the owner's ports are about to get other groups.
  [[nodiscard]] bool IsDue(const std::string& owner_id) const EXCLUDES(mutex_);
  /// Whether the groups for that are still to be written.
  [[nodiscard]] bool IsWaiting(const std::string& owner_id) const EXCLUDES(mutex_);

  /// The port's groups without policies are these from now on; the rest is as GroupsOf. PlanError
  /// as MayPlan, unless they are due.
  [[nodiscard]] std::vector<std::string> Choose(const Owner& owner, const PolicedPort& port,
                                                std::vector<std::string> own) EXCLUDES(mutex_);
  /// The groups of the owner's port, sorted. Those that Neutron refuses are left out.
  [[nodiscard]] std::vector<std::string> GroupsOf(const Owner& owner, const PolicedPort& port) const
      EXCLUDES(mutex_);
  /// As GroupsOf, but `now` and the missing peers' groups while ports join.
  [[nodiscard]] std::vector<std::string> NextGroups(const Owner& owner, const PolicedPort& port,
                                                    const std::vector<std::string>& now) const
      EXCLUDES(mutex_);
  /// The port that Neutron lists has these groups. Those that are no policy's count as the port's
  /// own, unless its own ones are known. An additional port without policies always owns its
  /// groups.
  void Learn(const std::string& owner_id, const PolicedPort& port,
             const std::vector<std::string>& groups) EXCLUDES(mutex_);
  /// A task has tried to change the owner's ports.
  void Tried(const std::string& owner_id, bool is_done) EXCLUDES(mutex_);
  void Forget(const std::string& owner_id) EXCLUDES(mutex_);
  /// Neutron lacks a group: the next look comes at once.
  void Doubt() EXCLUDES(mutex_);

  [[nodiscard]] std::optional<std::string> FindRefusal(const std::string& policy) const
      EXCLUDES(mutex_);

  struct Figures {
    size_t groups = 0;
    size_t rules = 0;
    size_t refused = 0;  ///< groups that lack something
    size_t due = 0;      ///< pods whose ports are about to get other groups
  };
  [[nodiscard]] Figures figures() const EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;
  enum class Due {
    kWaiting,  ///< for the groups
    kJoining,  ///< a task has been asked for, which only adds groups
    kJoined,   ///< for others that join
    kTrying,   ///< a task has been asked for, which ends the change
    kLate,     ///< the task has failed, and is repeated
  };

  // These throw NeutronError.
  void WriteGroups() EXCLUDES(mutex_);
  void Look() EXCLUDES(mutex_);
  /// False: it is to be tried again.
  [[nodiscard]] bool Clean() EXCLUDES(mutex_);

  /// Asks for the next tasks, unless ports still join. In trouble, wakes all that wait.
  void Regroup() EXCLUDES(mutex_);
  /// The owners whose next task may begin; they are noted as `next`.
  [[nodiscard]] std::vector<std::string> Advance(Due from, Due next) REQUIRES(mutex_);
  /// Calls the hook for each; an owner that is not held is not due.
  void AskFor(const std::vector<std::string>& owners) EXCLUDES(mutex_);
  [[nodiscard]] size_t CountOf(Due due) const REQUIRES(mutex_);
  void TellOf(const GroupStore::Failures& before) EXCLUDES(mutex_);
  [[nodiscard]] GroupStore::Wanted WantedOf(const std::set<GroupName>& names) const
      REQUIRES(mutex_);
  void Publish(const GroupStore::Wanted& tried, const GroupStore::Failures& failures)
      EXCLUDES(mutex_);
  [[nodiscard]] PolicyGroups::Membership MembershipOf(const std::string& pod_uid,
                                                      const PolicedPort& port) const
      REQUIRES(mutex_);
  void Append(const GroupName& name, std::vector<std::string>& ids) const REQUIRES(mutex_);
  void SetOwn(const std::string& owner_id, const PolicedPort& port, std::vector<std::string> own)
      REQUIRES(mutex_);
  /// The groups of the port without policies.
  [[nodiscard]] const std::vector<std::string>& OwnGroupsOf(const Owner& owner,
                                                            const PolicedPort& port) const
      REQUIRES(mutex_);
  /// Takes over what the store has.
  void ReadStore() REQUIRES(mutex_);
  /// Pods of groups that Neutron refused before.
  void AwaitMembersOf(const std::set<GroupName>& names) REQUIRES(mutex_);
  /// Throws PlanError as MayPlan.
  void RequireGroups(const std::string& pod_uid, const PolicedPort& port) const REQUIRES(mutex_);
  void SetDue(const std::string& owner_id, std::optional<Due> due) REQUIRES(mutex_);
  [[nodiscard]] bool IsWritten(const std::string& owner_id) const REQUIRES(mutex_);

  const PodDefaults& defaults_;
  const Hooks hooks_;
  const std::chrono::milliseconds look_;  ///< between two looks, at most
  NeutronApi& api_;
  GroupStore store_;                        ///< Run's own
  Clock::time_point next_look_;             ///< Run's own
  std::chrono::milliseconds to_next_look_;  ///< Run's own

  mutable Mutex mutex_;
  PolicyGroups policies_ GUARDED_BY(mutex_);
  PortSets sets_ GUARDED_BY(mutex_);
  std::set<GroupName> unwritten_ GUARDED_BY(mutex_);  ///< changed since Run read them
  std::set<GroupName> unclean_ GUARDED_BY(mutex_);    ///< that may have surplus rules
  GroupStore::Failures failures_ GUARDED_BY(mutex_);
  std::map<GroupName, std::string> ids_ GUARDED_BY(mutex_);
  std::set<std::string> all_ids_ GUARDED_BY(mutex_);  ///< also of groups that are about to go
  size_t rules_ GUARDED_BY(mutex_) = 0;
  bool is_doubted_ GUARDED_BY(mutex_) = true;
  std::string trouble_ GUARDED_BY(mutex_);  ///< why the last run failed; empty: it did not
  std::map<std::string, Due> due_ GUARDED_BY(mutex_);  ///< by the owner's id
  std::map<Due, size_t> counts_ GUARDED_BY(mutex_);    ///< of `due_`
  bool is_adopted_ GUARDED_BY(mutex_) = false;
  /// The groups of ports without policies, where they are not those of kuryr.conf: by the owner's
  /// id and the interface.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> own_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller::neutron
