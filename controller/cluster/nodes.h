#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/thread_annotations.h"
#include "watcher/api_client.h"

namespace kuryr::controller {

/// The facts of a Node that backends ask for.
struct NodeFacts {
  std::vector<IpNetwork> pod_cidrs;  ///< spec.podCIDRs
  std::vector<IpAddress> addresses;  ///< status.addresses of type InternalIP
  std::string machine;               ///< status.nodeInfo.machineID; empty: unknown
  std::string zone;                  ///< label topology.kubernetes.io/zone; empty: none

  bool operator==(const NodeFacts&) const = default;
};
/// Leaves out values that cannot be read.
[[nodiscard]] NodeFacts NodeFactsOf(const nlohmann::json& node);

/// The cluster's nodes, read from the API server when a plan needs one. Thread-safe.
class Nodes {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;
  /// A node is read again after that time: its name may be another node's by then.
  static constexpr std::chrono::seconds kFresh{60};

  explicit Nodes(Now now = Clock::now) : now_(std::move(now)) {}

  /// The Node's spec.podCIDRs. Throws what ApiClient does, and PlanError kRetry where the node
  /// has none yet, or does not exist.
  [[nodiscard]] std::vector<IpNetwork> PodCidrsOf(const std::string& node,
                                                  watcher::ApiClient& client) EXCLUDES(mutex_);
  /// The Node's internal addresses. Throws as PodCidrsOf.
  [[nodiscard]] std::vector<IpAddress> AddressesOf(const std::string& node,
                                                   watcher::ApiClient& client) EXCLUDES(mutex_);

 private:
  struct Known {
    NodeFacts facts;
    Clock::time_point until;
  };

  /// Reads the node again if the known facts are old, or lack `wanted`. Empty: the node has none.
  template <typename Fact>
  [[nodiscard]] std::vector<Fact> Find(const std::string& node, watcher::ApiClient& client,
                                       std::vector<Fact> NodeFacts::* wanted) EXCLUDES(mutex_);

  const Now now_;
  Mutex mutex_;
  std::map<std::string, Known> known_ GUARDED_BY(mutex_);  ///< by name; old entries go
};

/// NodeFacts::machine of the node; nullopt: there is no such node. Throws the errors of ApiClient.
[[nodiscard]] std::optional<std::string> FindMachine(const std::string& node,
                                                     watcher::ApiClient& client);

/// Whether the cluster has no node of this name. Throws the errors of ApiClient.
[[nodiscard]] bool IsNodeGone(const std::string& node, watcher::ApiClient& client);

}  // namespace kuryr::controller
