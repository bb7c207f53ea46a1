#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/backend.h"
#include "controller/backends/backend_factory.h"
#include "controller/backends/neutron/api/neutron_api.h"
#include "controller/backends/neutron/held/active_poll.h"
#include "controller/backends/neutron/held/port_ledger.h"
#include "controller/backends/neutron/port_planner.h"
#include "controller/backends/neutron/security/isolation.h"
#include "controller/backends/neutron/settings/pod_defaults.h"
#include "controller/backends/neutron/stock/pool_filler.h"
#include "controller/backends/tasks/owner_work.h"
#include "service/chore.h"

namespace kuryr::controller::neutron {

/// A backend whose VIFs are ports of Neutron; docs/neutron.md says what pods get. OwnerWork makes,
/// binds and deletes ports, ActivePoll asks which are ACTIVE, and chores look whether ports are
/// still there. Neutron gives addresses: claims keep none. Only Inventory and ListPorts ask the API
/// while their caller waits. Thread-safe.
class NeutronBackend final : public Backend,
                             public InterfaceReleaser,
                             public ScopeUser,
                             public LossReporter,
                             public MetricsReporter,
                             public PolicyEnforcer,
                             public PortLister {
 public:
  using Clock = std::chrono::steady_clock;

  struct Times {
    std::chrono::milliseconds retry_least{1000};
    std::chrono::milliseconds retry_most{60'000};
    /// How long ports of an earlier controller, or of a request without an answer, may still come
    /// to light. 0: there was no earlier controller.
    std::chrono::milliseconds search{120'000};
    /// Interval of looks whether the ports of plans are there.
    std::chrono::milliseconds look{300'000};
    /// Interval for ports that are not ACTIVE yet. Also the delay before the first look, which
    /// finds ports lost while no controller led.
    std::chrono::milliseconds look_at_waiting{5'000};
    ActivePoll::Pace pace;
    PoolFiller::Times pool;
  };
  struct Parts {
    NeutronApi& api;  ///< borrowed
    PodDefaults defaults;
    BackendHooks hooks;
    size_t workers = 8;
    Times times = {};
  };

  explicit NeutronBackend(Parts parts);
  /// Waits for requests that are under way.
  ~NeutronBackend() override;

  [[nodiscard]] std::optional<std::vector<vif::PodVif>> Reserve(
      const PlanRequest& request) override;
  /// Judges by the VIF's form, which VIFs of kuryr-kubernetes' annotations also have.
  [[nodiscard]] bool Owns(const Owner& owner, const vif::PodVif& vif) const override;
  void Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  /// From then on it looks for orphans, every PodDefaults::orphan_interval. It releases a pod that
  /// is gone, has only idle ports, and was so at the look before. Ports get the groups of policies.
  void EndAdoption() override;
  [[nodiscard]] bool Await(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  /// Names ports that another client has deleted in Neutron.
  [[nodiscard]] std::optional<std::string> FindLost(const Owner& owner) const override;
  /// A port stays where Neutron names another owner or none, even if it was adopted.
  bool Release(const std::string& owner_id) override;
  /// Ports go as Release's.
  void ReleaseBut(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  void SweepScopes() override;
  /// Owners of ports that have the tags of kuryr.conf; none without tags. Throws NeutronError.
  [[nodiscard]] std::vector<Owner> Inventory() const override;
  /// Ports that have the tags of kuryr.conf; none without tags. Throws NeutronError.
  [[nodiscard]] std::vector<ListedPort> ListPorts() const override {
    return planner_.cluster_ports().All();
  }
  [[nodiscard]] std::vector<ListedPort> ListUnmarked() const override {
    return planner_.cluster_ports().Unmarked();
  }
  void RemoveUnmarked(const std::string& port_id) override { planner_.Remove(port_id); }
  [[nodiscard]] bool IsHeld(const std::string& port_id) const override;
  [[nodiscard]] std::optional<std::string> WhyNotListed() const override;
  void Enforce(const policy::PolicyChanges& changes) override { isolation_->Enforce(changes); }
  [[nodiscard]] std::optional<std::string> FindRefusal(const std::string& policy) const override {
    return isolation_->FindRefusal(policy);
  }
  void WriteTo(service::MetricsText& text) const override;
  [[nodiscard]] Facets facets() override {
    return {.interfaces = this,
            .scopes = this,
            .losses = this,
            .metrics = this,
            .ports = this,
            .policies = isolation_ ? this : nullptr};
  }

  /// The number of ports that are not ACTIVE yet.
  [[nodiscard]] size_t waiting() const { return poll_.waiting(); }
  /// The number of ports of active plans that Neutron no longer has.
  [[nodiscard]] size_t lost() const;
  [[nodiscard]] uint64_t released_orphans() const;
  /// Empty without [kubernetes] vif_pool_driver.
  [[nodiscard]] std::map<PoolKey, PoolCounts> pools() const {
    return planner_.pool_means().ready.Counts();
  }

 private:
  using Task = tasks::OwnerWork::Task;

  /// False: the owner is being released.
  bool Open(const Owner& owner) REQUIRES(work_.mutex());
  /// Those whose policies count for a plan of the owner, which has an account.
  [[nodiscard]] std::vector<PolicedPort> PolicedPorts(const std::string& owner_id) const
      REQUIRES(work_.mutex());
  [[nodiscard]] std::optional<PlanError> Run(Task task, const PlanRequest& request);
  [[nodiscard]] PortWork WorkFor(const PlanRequest& request);
  void Finish(Task task, const PortWork& work);
  void FinishPlan(PortLedger::Account& account, const PortWork& work) REQUIRES(work_.mutex());
  void OnActive(const std::vector<std::string>& ids);
  /// An owner that has a port in Neutron beside those it holds is searched.
  void FindLatePorts();
  [[nodiscard]] std::vector<std::string> WrittenPorts();
  void LookForOrphans() EXCLUDES(work_.mutex());
  void ReleaseOrphan(const Owner& owner) EXCLUDES(work_.mutex());
  /// A port that Neutron's list lacks is verified.
  void LookFor(const std::vector<std::string>& ids);
  [[nodiscard]] PoolHooks PoolHooksOf();
  [[nodiscard]] std::unique_ptr<Isolation> MakeIsolation(NeutronApi& api);
  /// Isolation's hooks.
  [[nodiscard]] std::set<std::string> FindDiffering();
  [[nodiscard]] bool Regroup(const std::string& owner_id);
  [[nodiscard]] std::unique_ptr<PoolFiller> MakeFiller();
  [[nodiscard]] bool IsYoung() const { return Clock::now() < started_ + times_.search; }

  const BackendHooks hooks_;
  const Times times_;
  const Clock::time_point started_ = Clock::now();
  const PodDefaults defaults_;
  const std::unique_ptr<Isolation> isolation_;  ///< null where no policy is enforced
  mutable PortPlanner planner_;
  tasks::OwnerWork work_;
  PortLedger ledger_ GUARDED_BY(work_.mutex());
  std::set<std::string> suspects_;  ///< ids of orphans at the last look; sweep_orphans_'s own
  std::set<std::string> orphans_ GUARDED_BY(work_.mutex());  ///< ids; being released
  uint64_t released_orphans_ GUARDED_BY(work_.mutex()) = 0;
  ActivePoll poll_;
  const std::unique_ptr<PoolFiller> filler_;  ///< null without pools
  service::Chore find_late_ports_;  ///< once, when no port of an earlier controller comes any more
  service::Chore look_at_waiting_;
  service::Chore look_at_written_;
  service::Chore sweep_scopes_;
  service::Chore sweep_orphans_;
  service::Chore write_groups_;
};

}  // namespace kuryr::controller::neutron
