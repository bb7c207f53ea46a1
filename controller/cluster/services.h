#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/thread_annotations.h"
#include "controller/backends/facets.h"
#include "controller/kinds/watched_kind.h"
#include "controller/plan/service.h"

namespace kuryr::controller {

/// The cluster's Services with their endpoints, for a backend that balances them. Watched if the
/// backend asks for them. EndpointSlices of both API versions count: a cluster has one or both.
/// Which endpoints serve is kube-proxy's rule (kubernetes pkg/proxy/topology.go). Thread-safe.
/// (k8s.io/api core/v1, discovery/v1)
class Services : public WatchedKind {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::string_view kKind = "service";  ///< of their keys

  /// Wakes the key of a Service that its backend does not balance.
  explicit Services(const KindParts& parts)
      : is_balanced_(parts.needs.services), wake_(parts.wake) {}

  /// The most endpoints of all ports of one Service. A user could name any number of ports.
  static constexpr size_t kMostOfAllPorts = 10'000;
  /// The most nodes or zones that an endpoint is hinted for, as the API server has it.
  static constexpr size_t kMostHints = 8;
  /// The most that are looked at for them: those that do not serve take time, too.
  static constexpr size_t kMostLooks = 2 * kMostOfAllPorts;

  /// Notes that the user of NAMESPACE/NAME is told this now. Returns the Service's UID; nullopt: it
  /// is gone, or they have been told it already.
  [[nodiscard]] std::optional<std::string> UidForNews(const std::string& name,
                                                      const std::string& message) EXCLUDES(mutex_);

  [[nodiscard]] std::vector<WatchedPath> Paths() override;
  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  /// Tells a ServiceBalancer of all Services.
  void BeginTerm(const Term& term) override EXCLUDES(mutex_);
  void EndTerm() override EXCLUDES(mutex_);

 private:
  struct SpecPort {
    std::string name;
    std::string protocol;
    uint16_t port = 0;
  };
  struct Spec {
    std::vector<IpAddress> cluster_ips;
    std::optional<std::chrono::seconds> affinity;
    bool local = false;
    std::vector<SpecPort> ports;
  };
  /// An address in several slices has the first of its conditions: a pod that ends may have left
  /// its address to another one.
  enum class Condition { kReady, kNotReady, kServesAtItsEnd };
  struct Endpoint {
    IpAddress address;
    std::string node;
    Condition condition;
    std::set<std::string> for_nodes;  ///< hints, kMostHints at most
    std::set<std::string> for_zones;
  };
  struct Slice {
    std::string service;          ///< NAMESPACE/NAME
    std::vector<SpecPort> ports;  ///< with the endpoints' ports
    std::vector<Endpoint> endpoints;
  };
  struct Known {
    std::string uid;
    std::optional<Spec> spec;
    std::string told;  ///< the last message for its user
    Clock::time_point told_at;
    std::set<std::string> slices;  ///< keys of slices_
  };

  [[nodiscard]] static Spec SpecOf(const nlohmann::json& object);
  [[nodiscard]] static Slice SliceOf(const watcher::WatchEvent& event);
  [[nodiscard]] static SpecPort PortOf(const nlohmann::json& port);
  /// nullopt: it never serves.
  [[nodiscard]] static std::optional<Condition> ConditionOf(const nlohmann::json& endpoint);
  void HandleService(const watcher::WatchEvent& event) REQUIRES(mutex_);
  void HandleSlice(const watcher::WatchEvent& event) REQUIRES(mutex_);
  void RemoveSlice(const std::string& key) REQUIRES(mutex_);
  [[nodiscard]] Service ServiceOf(const Known& known) const REQUIRES(mutex_);
  /// How many more endpoints of a Service may be looked at, and may be balanced.
  struct Room {
    size_t looks = kMostLooks;
    size_t endpoints = kMostOfAllPorts;
  };
  /// Endpoints of slices_, each with what it is in a plan.
  using Served = std::map<ServiceEndpoint, const Endpoint*>;
  [[nodiscard]] ServicePort BalancedPort(const Known& known, const SpecPort& port, Room& room) const
      REQUIRES(mutex_);
  /// Those that serve.
  [[nodiscard]] Served Serving(const Known& known, const SpecPort& port, Room& room) const
      REQUIRES(mutex_);
  [[nodiscard]] Served AllOf(const Known& known, const SpecPort& port, size_t most) const
      REQUIRES(mutex_);
  /// What clients of places prefer by the family's hints: nothing, if one endpoint has none.
  static void Prefer(const Served& served, IpFamily family, std::set<std::string> Endpoint::* hints,
                     EndpointsByClient& preferred);
  void Balance(const std::string& name, const Service& service) REQUIRES(mutex_);
  void Tell(const std::string& key) REQUIRES(mutex_);

  const bool is_balanced_;
  const Wake wake_;
  mutable Mutex mutex_;
  ServiceBalancer* balancer_ GUARDED_BY(mutex_) = nullptr;
  std::map<std::string, Known> services_ GUARDED_BY(mutex_);  ///< by NAMESPACE/NAME
  std::map<std::string, Slice> slices_ GUARDED_BY(mutex_);    ///< by version and NAMESPACE/NAME
};

}  // namespace kuryr::controller
