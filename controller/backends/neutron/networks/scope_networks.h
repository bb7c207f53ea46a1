#pragma once

#include <functional>
#include <future>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/api/neutron_api.h"
#include "controller/backends/neutron/settings/pod_defaults.h"

namespace kuryr::controller::neutron {

/// [kubernetes] pod_subnets_driver = namespace: a network for each scope of owners, with a subnet
/// of each pool and an interface of the router. The names are Kuryr's. The network's description
/// names the scope, and nothing else is stored. Find completes networks that a killed controller
/// left half done, or that Kuryr made. Thread-safe.
class ScopeNetworks {
 public:
  /// Borrows both.
  ScopeNetworks(NeutronApi& api, const PodDefaults& defaults) : api_(api), defaults_(defaults) {}

  struct Whose {
    std::string id;  ///< of one life
    std::string name;
  };
  /// The subnets of the scope's network. Makes the network if there is none; of several callers one
  /// does it. Throws NeutronError, and PlanError if a subnet cannot be made.
  [[nodiscard]] std::vector<std::string> Find(const Whose& scope) EXCLUDES(mutex_);
  /// Forgets the scope's network, because a part of it is gone.
  void Forget(const std::string& scope_id) EXCLUDES(mutex_);
  /// Whether Find has returned subnets for a scope that pass. They are sorted.
  [[nodiscard]] bool Has(const std::function<bool(const std::vector<std::string>& subnets)>& passes)
      const EXCLUDES(mutex_);

  struct Sweep {
    std::function<bool(const std::string& scope_id)> is_there;
    /// Deletes a port that no pod needs; false: a pod needs it.
    std::function<bool(const Port& port)> remove_port;
  };
  /// Deletes networks of scopes that are gone, once no pod has a port in them. False: some wait for
  /// that. Throws NeutronError.
  [[nodiscard]] bool SweepAll(const Sweep& sweep) EXCLUDES(mutex_);

 private:
  using Subnets = std::vector<std::string>;

  [[nodiscard]] Subnets Make(const Whose& scope) EXCLUDES(mutex_);
  [[nodiscard]] Network FindNetwork(const Whose& scope);
  [[nodiscard]] Network CreateNetwork(const Whose& scope, const std::string& name);
  [[nodiscard]] Subnet FindSubnet(const Network& network, const SubnetPool& pool,
                                  const std::string& scope_name);
  void Connect(const Network& network, const std::string& subnet_id);
  [[nodiscard]] bool Remove(const Network& network, const Sweep& sweep);
  [[nodiscard]] SubnetPool PoolOf(const std::string& id) EXCLUDES(mutex_);
  /// The text before a scope's id in its network's description.
  [[nodiscard]] std::string Mark() const;

  NeutronApi& api_;
  const PodDefaults& defaults_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_future<Subnets>> made_ GUARDED_BY(mutex_);  ///< by the id
  std::map<std::string, SubnetPool> pools_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller::neutron
