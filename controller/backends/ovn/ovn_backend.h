#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/backend.h"
#include "controller/backends/backend_factory.h"
#include "controller/backends/ovn/northbound/northbound.h"
#include "controller/backends/ovn/ovn_options.h"
#include "controller/backends/ovn/topology.h"
#include "controller/backends/pools/pool_backend.h"

namespace kuryr::controller::ovn {

/// A backend whose VIFs are logical ports of OVN; docs/ovn.md says what pods get. Pools give the
/// addresses, as with backend local, and their state is in memory. Northbound has the rows of
/// owners, and keeps them so. A VIF is active as soon as its rows are written: the node waits for
/// ovn-controller. Thread-safe.
class OvnBackend final : public Backend,
                         public InterfaceReleaser,
                         public MetricsReporter,
                         public ServiceBalancer {
 public:
  /// `grace` as Northbound's.
  OvnBackend(const OvnOptions& options, const BackendHooks& hooks,
             std::chrono::milliseconds grace = std::chrono::minutes(1));

  /// kRetry where the database refuses a row, or does not answer.
  [[nodiscard]] std::optional<std::vector<vif::PodVif>> Reserve(
      const PlanRequest& request) override;
  [[nodiscard]] bool Owns(const Owner& owner, const vif::PodVif& vif) const override {
    return pools_.Owns(owner, vif);
  }
  void Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  [[nodiscard]] bool Await(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  bool Release(const std::string& owner_id) override;
  void ReleaseBut(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  [[nodiscard]] std::vector<Owner> Inventory() const override { return pools_.Inventory(); }
  void Balance(const std::string& name, const Service& service) override;
  void WriteTo(service::MetricsText& text) const override;
  [[nodiscard]] Facets facets() override {
    return {.addresses = pools_.facets().addresses,
            .interfaces = this,
            .metrics = this,
            .services = this};
  }

 private:
  struct Account {
    Owner owner;
    std::vector<RowKey> rows;
  };

  /// Asks for the owner's rows, in place of those of an earlier call. Returns their keys.
  std::vector<RowKey> Want(const Owner& owner, const std::vector<vif::PodVif>& vifs)
      EXCLUDES(mutex_);
  void OnTold(const std::vector<RowKey>& keys) EXCLUDES(mutex_);

  const BackendHooks hooks_;
  const std::string cluster_;
  pools::PoolBackend pools_;
  const Topology topology_;
  mutable Mutex mutex_;
  std::map<std::string, Account> accounts_ GUARDED_BY(mutex_);  ///< by the owner's id
  std::map<RowKey, std::string> owners_ GUARDED_BY(mutex_);     ///< ids, by row
  Northbound northbound_;                                       // last: it calls this
};

}  // namespace kuryr::controller::ovn
