#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/backoff.h"
#include "base/thread_annotations.h"
#include "controller/backends/backend.h"
#include "controller/backends/neutron/active_poll.h"
#include "controller/backends/neutron/neutron_api.h"
#include "controller/backends/neutron/pod_defaults.h"
#include "controller/backends/neutron/pool_filler.h"
#include "controller/backends/neutron/port_planner.h"
#include "service/work_queue.h"

namespace kuryr::controller::neutron {

/// A backend whose VIFs are ports of Neutron; docs/neutron.md says what pods get. Threads of its
/// own make, bind and delete the ports of one owner at a time each, and one asks which ports are
/// ACTIVE. What Neutron refused is asked for again after a delay that grows; until then, Reserve
/// repeats the refusal. Claims are not kept: their addresses are Neutron's to give. The API is
/// asked by Inventory alone while a caller waits. Thread-safe.
class NeutronBackend final : public Backend,
                             public ScopeUser,
                             public LossReporter,
                             public MetricsReporter,
                             public PortLister {
 public:
  using Clock = std::chrono::steady_clock;

  struct Hooks {
    /// Asking again for this owner is worth it; of one that is released, perhaps its id alone.
    std::function<void(const Owner& owner)> wake;
    /// While false, nothing is asked of Neutron.
    std::function<bool()> may_write;
    /// Whether there is such a scope; asked after SweepScopes alone.
    std::function<bool(const std::string& scope_id)> is_scope;
  };
  struct Times {
    std::chrono::milliseconds retry_least{1000};
    std::chrono::milliseconds retry_most{60'000};
    /// How long ports of a controller before this one, or of a request without an answer, may
    /// still come to light. 0: there was none before.
    std::chrono::milliseconds search{120'000};
    /// Between two looks whether the ports of plans are there.
    std::chrono::milliseconds look{300'000};
    /// The same of those that are not ACTIVE yet; also until the first look at all, which tells of
    /// what went while nobody led.
    std::chrono::milliseconds look_at_waiting{5'000};
    ActivePoll::Pace pace;
    PoolFiller::Times pool;
  };
  struct Parts {
    NeutronApi& api;  ///< borrowed
    PodDefaults defaults;
    Hooks hooks;
    size_t workers = 8;
    Times times = {};
  };

  explicit NeutronBackend(Parts parts);
  /// Waits for requests that are under way.
  ~NeutronBackend() override;

  [[nodiscard]] std::optional<std::vector<vif::PodVif>> Reserve(const PlanRequest& request) override
      EXCLUDES(mutex_);
  /// By its form: also what kuryr-kubernetes wrote as an annotation.
  [[nodiscard]] bool Owns(const Owner& owner, const vif::PodVif& vif) const override;
  void Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) override EXCLUDES(mutex_);
  [[nodiscard]] bool Await(const Owner& owner, const std::vector<vif::PodVif>& vifs) override
      EXCLUDES(mutex_);
  /// Ports that somebody has deleted in Neutron.
  [[nodiscard]] std::optional<std::string> FindLost(const Owner& owner) const override
      EXCLUDES(mutex_);
  /// Ports that Neutron does not know as this owner's stay, whatever was adopted.
  bool Release(const std::string& owner_id) override EXCLUDES(mutex_);
  void SweepScopes() override;
  /// By the tags of kuryr.conf: owners that have ports in Neutron now; nobody without tags. Throws
  /// NeutronError.
  [[nodiscard]] std::vector<Owner> Inventory() const override;
  /// Of this cluster's tags, as Inventory; none without tags. Throws NeutronError.
  [[nodiscard]] std::vector<ListedPort> ListPorts() const override { return planner_.ListPorts(); }
  [[nodiscard]] bool IsHeld(const std::string& port_id) const override EXCLUDES(mutex_);
  [[nodiscard]] std::optional<std::string> WhyNotListed() const override;
  void WriteTo(service::MetricsText& text) const override;
  [[nodiscard]] Facets facets() override {
    return {.scopes = this, .losses = this, .metrics = this, .ports = this};
  }

  /// Ports that are not ACTIVE yet.
  [[nodiscard]] size_t waiting() const { return poll_.waiting(); }
  /// Ports of active plans that Neutron has no more.
  [[nodiscard]] size_t lost() const EXCLUDES(mutex_);
  /// With [kubernetes] vif_pool_driver.
  [[nodiscard]] std::map<PoolKey, PoolCounts> pools() const {
    return planner_.pool_means().ready.Counts();
  }

 private:
  enum class Life {
    kHeld,
    kReleasing,
    kReleased,  ///< nothing is left, and Release has not heard of it yet
  };
  struct Failure {
    BackendError::Kind kind;
    std::string text;
    Clock::time_point until;  ///< not before is it tried again
  };
  /// What is known of an owner.
  struct Holder {
    Owner owner;
    Scope scope;
    std::vector<IpAddress> node_addresses;
    Life life = Life::kHeld;
    std::vector<HeldPort> ports;
    std::vector<InterfaceRequest> wanted;   ///< that are under way
    std::vector<InterfaceRequest> refused;  ///< that `failure` is about
    std::optional<Failure> failure;
    std::unique_ptr<Backoff> backoff;
    bool must_search = false;                    ///< as PortWork's
    bool uncertain = false;                      ///< the same
    std::optional<Clock::time_point> search_at;  ///< once more
    std::set<std::string> lost;  ///< ids of ports that were gone before their plan was active
  };
  using Holders = std::unordered_map<std::string, Holder>;
  enum class Act { kNothing, kPlan, kSearch, kVerify, kRelease };

  [[nodiscard]] Holder& Open(const Owner& owner) REQUIRES(mutex_);
  [[nodiscard]] static std::optional<std::vector<vif::PodVif>> VifsFor(
      const Holder& holder, const std::vector<InterfaceRequest>& interfaces);
  /// Whether it is the holder's now; false: another owner has it.
  bool Take(Holder& holder, const vif::PodVif& vif) REQUIRES(mutex_);
  void Want(Holder& holder, const std::vector<InterfaceRequest>& interfaces) REQUIRES(mutex_);

  void Work();
  void Round(const std::string& id) EXCLUDES(mutex_);
  /// What is to be done next, and what it takes.
  [[nodiscard]] Act Begin(const std::string& id, PortWork& work) EXCLUDES(mutex_);
  void Do(Act act, PortWork& work);
  void Finish(Act act, PortWork& work) EXCLUDES(mutex_);
  void FinishPlan(Holder& holder, PortWork& work) REQUIRES(mutex_);
  void FinishSearch(Holder& holder, PortWork& work) REQUIRES(mutex_);
  void FinishVerify(Holder& holder, PortWork& work) REQUIRES(mutex_);
  void FinishRelease(Holder& holder, PortWork& work) REQUIRES(mutex_);
  void SearchAfter(Holder& holder, Clock::duration delay) REQUIRES(mutex_);
  /// Once, when nothing of a controller before this one comes to light any more: an owner that has
  /// a port beside those it holds is searched.
  void FindLatePorts() EXCLUDES(mutex_);
  /// Of these ports, each that a list of Neutron's lacks is asked for by itself.
  void LookFor(const std::vector<std::string>& ids) EXCLUDES(mutex_);
  [[nodiscard]] std::vector<std::string> WrittenPorts() const EXCLUDES(mutex_);
  /// Where its plan is active, it stays as gone: the pod may run. Else the next Reserve makes
  /// another one.
  void Lose(Holder& holder, const std::string& port) REQUIRES(mutex_);
  /// `port` may be any owner's.
  void Disown(const Holder& holder, const std::string& port) REQUIRES(mutex_);
  /// What was adopted meanwhile stays as it is.
  void Merge(Holder& holder, const std::vector<HeldPort>& ports) REQUIRES(mutex_);
  /// Until it is tried again.
  [[nodiscard]] Clock::duration DelayOf(Holder& holder, const BackendError& error) REQUIRES(mutex_);
  void OnActive(const std::vector<std::string>& ids) EXCLUDES(mutex_);
  [[nodiscard]] PoolHooks PoolHooksOf();
  [[nodiscard]] std::unique_ptr<PoolFiller> MakeFiller();
  [[nodiscard]] bool IsYoung() const { return Clock::now() < started_ + times_.search; }

  const Hooks hooks_;
  const Times times_;
  const Clock::time_point started_ = Clock::now();
  mutable PortPlanner planner_;
  service::WorkQueue queue_;  ///< of owners' ids
  mutable Mutex mutex_;
  Holders holders_ GUARDED_BY(mutex_);                                      ///< by the owner's id
  std::unordered_map<std::string, std::string> owners_ GUARDED_BY(mutex_);  ///< by the port's id
  Clock::time_point throttled_until_ GUARDED_BY(mutex_);                    ///< by Neutron, for all
  ActivePoll poll_;
  const std::unique_ptr<PoolFiller> filler_;  ///< null without pools
  std::vector<std::jthread> threads_;
};

}  // namespace kuryr::controller::neutron
