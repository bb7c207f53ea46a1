#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "controller/backends/backend.h"
#include "service/metrics_text.h"

namespace kuryr::controller {

/// The keys of a network's programs, which the leader issues and renews.
struct IssuedCertificates {
  std::string name_space;         ///< of the objects that keep them
  std::chrono::seconds lifetime;  ///< of a certificate; an authority's is ten years
  std::string folder;             ///< of this process's own, a certificates::FileSet
};

/// Facts that a backend needs in addition to the pod's. The controller reads only these.
struct BackendNeeds {
  bool node_networks = false;  ///< PlanRequest::node_networks
  /// With [node_network], the node's networks are those of its management port.
  bool management_networks = false;
  /// It gives a network to a node that has none. The node's own networks may come late, and have
  /// priority.
  bool gives_node_networks = false;
  bool node_addresses = false;   ///< PlanRequest::node_addresses
  bool scopes = false;           ///< PlanRequest::scope
  bool services = false;         ///< it is a ServiceBalancer: pods need no routes to Services
  bool policies = false;         ///< it is a PolicyEnforcer
  bool node_policies = false;    ///< nodes enforce policies on its pods
  bool admin_policies = false;   ///< it enforces policies of all tiers
  bool multi_policies = false;   ///< it enforces MultiNetworkPolicies
  std::set<std::string> labels;  ///< keys of the pods' labels in PlanRequest::labels
  std::optional<IssuedCertificates> certificates = std::nullopt;
};

/// Calls that a backend makes.
struct BackendHooks {
  /// A call for this owner may have another answer now. If the owner is released, perhaps only its
  /// id is set. Must not call the backend.
  std::function<void(const Owner& owner)> wake;
  /// While false, the backend changes nothing at its server.
  std::function<bool()> may_write;
  /// Whether the scope of this id exists; called after SweepScopes. Empty: no scope is swept.
  std::function<bool(const std::string& id)> is_scope;
  /// Whether the cluster has no such pod any more, or one that has ended and has no plan of ours.
  /// Asks the API server while its caller waits, and throws what ApiClient does. Called after
  /// Backend::EndAdoption. Empty: no orphan is swept.
  std::function<bool(const Owner& pod)> is_gone = nullptr;
  /// The machine of the node of this name, as in MachineOfNode; nullopt: the cluster has no such
  /// node. Asks the API server while its caller waits, and throws what ApiClient does. Empty: no
  /// node is asked for.
  std::function<std::optional<std::string>(const std::string& node)> find_machine = nullptr;
  /// A part of the policy NAMESPACE/NAME was refused: PolicyEnforcer::FindRefusal tells why. Must
  /// not call the backend. Null: nobody is told.
  std::function<void(const std::string& name)> wake_policy = nullptr;
};

/// The backend that kuryr.conf names, as its section describes it. Thread-safe.
class BackendFactory {
 public:
  BackendFactory() = default;
  BackendFactory(const BackendFactory&) = delete;
  BackendFactory& operator=(const BackendFactory&) = delete;
  virtual ~BackendFactory() = default;

  [[nodiscard]] virtual const char* name() const noexcept = 0;  ///< in `[controller] backend`
  [[nodiscard]] virtual BackendNeeds needs() const = 0;
  /// Logs what an operator may want to change in kuryr.conf.
  virtual void Warn() const = 0;
  /// Makes a backend that knows no owner yet. It outlives the factory. Its destructor aborts its
  /// requests.
  [[nodiscard]] virtual std::shared_ptr<Backend> Make(const BackendHooks& hooks) const = 0;
  /// Counts of all backends that it made.
  virtual void WriteTo(service::MetricsText& /*text*/) const {}
};

}  // namespace kuryr::controller
