#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/backend.h"
#include "controller/backends/backend_factory.h"
#include "controller/backends/ovn/endpoint_budget.h"
#include "controller/backends/ovn/load_balancers.h"
#include "controller/backends/ovn/northbound/northbound.h"
#include "controller/backends/ovn/ovn_options.h"
#include "controller/backends/ovn/ovn_tracer.h"
#include "controller/backends/ovn/policy_rows.h"
#include "controller/backends/ovn/southbound/southbound.h"
#include "controller/backends/ovn/topology.h"
#include "controller/backends/ovn/zones.h"
#include "controller/backends/pools/pool_backend.h"

namespace kuryr::controller::ovn {

/// A backend whose VIFs are logical ports of OVN; docs/ovn.md says what pods get. Pools give the
/// addresses, as with backend local, and their state is in memory. Northbound has the rows of
/// owners, and keeps them so. A VIF is active as soon as its rows are written: the node waits for
/// ovn-controller. Thread-safe.
class OvnBackend final : public Backend,
                         public InterfaceReleaser,
                         public MetricsReporter,
                         public PolicyEnforcer,
                         public ServerSharer,
                         public ServiceBalancer {
 public:
  /// `grace` as Northbound's.
  OvnBackend(const OvnOptions& options, const BackendHooks& hooks,
             std::chrono::milliseconds grace = std::chrono::minutes(1));

  /// PlanError kRetry if the database refuses a row, or does not answer.
  [[nodiscard]] std::optional<std::vector<vif::PodVif>> Reserve(
      const PlanRequest& request) override;
  [[nodiscard]] bool Owns(const Owner& owner, const vif::PodVif& vif) const override {
    return pools_.Owns(owner, vif);
  }
  void Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  /// All policies are known, too. Nothing has been written before.
  void EndAdoption() override;
  [[nodiscard]] bool Await(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  bool Release(const std::string& owner_id) override;
  void ReleaseBut(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  [[nodiscard]] std::vector<Owner> Inventory() const override { return pools_.Inventory(); }
  void Balance(const std::string& name, const Service& service) override;
  void SetZone(const std::string& node, const std::string& zone) override;
  [[nodiscard]] std::optional<std::string> WhyNotBalanced(const std::string& name) const override;
  void Enforce(const policy::PolicyChanges& changes) override;
  [[nodiscard]] std::optional<std::string> FindRefusal(const std::string& name) const override;
  void SetClusterUid(const std::string& uid) override;
  void WriteTo(service::MetricsText& text) const override;
  [[nodiscard]] Facets facets() override {
    return {.addresses = pools_.facets().addresses,
            .interfaces = this,
            .metrics = this,
            .services = balances_services_ ? this : nullptr,
            .policies = this,
            .sharer = this,
            .chassis = southbound_ ? &*southbound_ : nullptr,
            .tracer = &tracer_};
  }

 private:
  /// The port of a pod's interface.
  struct PolicedPort {
    std::string network;  ///< as in MemberOf
    WantedRow row;        ///< without its policies' port groups
  };
  struct Account {
    Owner owner;
    std::vector<RowKey> rows;
    std::vector<PolicedPort> ports;  ///< none of a node's
  };

  /// Requests the owner's rows, which replace those of an earlier call. Returns their keys, and the
  /// keys of the rows that isolate the pod. With kFirst the owner waits for them.
  enum class Turn { kInOrder, kFirst };
  std::vector<RowKey> Want(const Owner& owner, const std::vector<vif::PodVif>& vifs,
                           Turn turn = Turn::kInOrder) EXCLUDES(mutex_);
  /// Notes the ports of a pod, and returns its rows with its policies' port groups.
  [[nodiscard]] std::vector<WantedRow> Police(const std::vector<vif::PodVif>& vifs,
                                              std::vector<WantedRow> rows, Account& account) const
      REQUIRES(mutex_);
  [[nodiscard]] WantedRow WithPolicies(const std::string& pod_uid, const PolicedPort& port) const
      REQUIRES(mutex_);
  /// Appends the rows of ports whose sets are the member's.
  void AppendPorts(const policy::PolicyMember& member, std::vector<WantedRow>& rows) const
      REQUIRES(mutex_);
  /// Appends the keys of the rows that isolate the pod, which is woken when they are settled.
  void AppendIsolation(const Owner& owner, std::vector<RowKey>& keys) REQUIRES(mutex_);
  void OnTold(const std::vector<RowKey>& keys) EXCLUDES(mutex_);
  /// Writes what depends on the switches of these zones.
  void OnZones(const std::set<std::string>& changed) REQUIRES(mutex_);
  /// Wakes the policies that have these rows, if the database refuses one of them.
  void WakePolicies(const std::vector<RowKey>& keys) EXCLUDES(mutex_);

  const BackendHooks hooks_;
  pools::PoolBackend pools_;
  const bool balances_services_;
  const Topology topology_;
  const LoadBalancers balancers_;
  const std::map<std::string, std::string> networks_;  ///< the pools' names by their networks' ids
  mutable Mutex mutex_;
  std::map<std::string, Account> accounts_ GUARDED_BY(mutex_);  ///< by the owner's id
  std::map<RowKey, std::string> owners_ GUARDED_BY(mutex_);     ///< ids, by row
  PolicyRows policies_ GUARDED_BY(mutex_);
  std::map<RowKey, std::set<std::string>> awaiting_ GUARDED_BY(mutex_);  ///< pods, by row
  EndpointBudget budget_ GUARDED_BY(mutex_);
  Zones zones_ GUARDED_BY(mutex_);
  std::map<std::string, Service> preferring_ GUARDED_BY(mutex_);  ///< whose rows follow zones_
  const OvnTracer tracer_;
  Northbound northbound_;                 ///< after all that it calls
  std::optional<Southbound> southbound_;  ///< where [ovn] sb_connection is set; it asks northbound_
};

}  // namespace kuryr::controller::ovn
