#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>

#include "policy/admin_policy.h"
#include "policy/compilation.h"
#include "policy/compiled_policy.h"
#include "policy/network_policy.h"
#include "policy/pod_sets.h"
#include "policy/policy_node.h"
#include "policy/policy_pod.h"

namespace kuryr::policy {

/// Compiles the cluster's NetworkPolicies, MultiNetworkPolicies and admins' policies to sets of
/// pods. Objects may come in any order: a pod is in no set by its namespace's labels until the
/// namespace is known. While a definition that a MultiNetworkPolicy names is not known, the policy
/// isolates its pods on all additional networks, and allows what it says on those that are known.
/// Each call costs what it changes: a pod is compared with the selectors that its namespace may
/// match, and a new selector with the pods of such namespaces. Not thread-safe.
class PolicyCompiler {
 public:
  /// The policy's object, as the API server has it. Never throws for what it contains. A policy is
  /// also among the changes when only its error has come, changed or gone.
  PolicyChanges SetPolicy(const std::string& name_space, const std::string& name,
                          const nlohmann::json& object);
  PolicyChanges RemovePolicy(const std::string& name_space, const std::string& name);
  PolicyChanges SetMultiPolicy(const std::string& name_space, const std::string& name,
                               const nlohmann::json& object);
  PolicyChanges RemoveMultiPolicy(const std::string& name_space, const std::string& name);
  /// The network that the NetworkAttachmentDefinition NAMESPACE/NAME names, as
  /// InterfaceRequest::network has it; empty: it is another plugin's. nullopt: there is none, or it
  /// cannot be read.
  PolicyChanges SetDefinition(const std::string& definition,
                              const std::optional<std::string>& network);
  /// An admin's policy, as SetPolicy.
  PolicyChanges SetAdminPolicy(const AdminKind& kind, const std::string& name,
                               const nlohmann::json& object);
  PolicyChanges RemoveAdminPolicy(const AdminKind& kind, const std::string& name);
  PolicyChanges SetPod(PolicyPod pod);
  PolicyChanges RemovePod(const std::string& uid);
  PolicyChanges SetNamespace(const std::string& name, Labels labels);
  PolicyChanges RemoveNamespace(const std::string& name);
  PolicyChanges SetNode(const std::string& name, PolicyNode node);
  PolicyChanges RemoveNode(const std::string& name);

  /// Whether a policy names nodes. Its rules have the addresses of those that are set.
  [[nodiscard]] bool names_nodes() const noexcept { return !of_nodes_.empty(); }

  /// How often a pod, or a namespace, was compared with a selector: the work done.
  [[nodiscard]] uint64_t comparisons() const noexcept { return sets_.comparisons(); }

 private:
  struct Known {
    std::string name_space;
    NetworkPolicy policy;
    CompiledPolicy compiled;
    std::string error;  ///< as PolicyChanges has it; empty: there is none
    std::set<PodSetUse> uses;
  };

  PolicyChanges Set(const std::string& key, const std::string& name_space, NetworkPolicy policy);
  PolicyChanges Remove(const std::string& key);
  void Compile(const std::string& key, PolicyChanges& changes);
  [[nodiscard]] PolicyChanges CompileOfNodes();
  [[nodiscard]] std::optional<PolicyNetworks> NetworksOf(const NetworkPolicy& policy) const;
  [[nodiscard]] PolicyChanges Finish(PolicyChanges changes = PolicyChanges());

  PodSets sets_;
  PolicyNodes nodes_;
  std::map<std::string, Known> policies_;           ///< as PolicyChanges has them
  std::set<std::string> of_nodes_;                  ///< policies that name nodes
  std::map<std::string, std::string> definitions_;  ///< their networks
};

/// The key of an admin's policy in PolicyChanges. Names of namespaces have no capital letters.
[[nodiscard]] std::string AdminPolicyKey(const AdminKind& kind, const std::string& name);
/// The key of a MultiNetworkPolicy in PolicyChanges.
[[nodiscard]] std::string MultiPolicyKey(const std::string& name_space, const std::string& name);

}  // namespace kuryr::policy
