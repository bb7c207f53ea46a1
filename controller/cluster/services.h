#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/thread_annotations.h"
#include "controller/backends/facets.h"
#include "controller/plan/service.h"
#include "watcher/event_pipeline.h"

namespace kuryr::controller {

/// The cluster's Services with their endpoints, for a backend that balances them. Watched if the
/// backend asks for them. EndpointSlices of both API versions count: a cluster has one or both.
/// Thread-safe. (k8s.io/api core/v1, discovery/v1)
class Services : public watcher::EventConsumer {
 public:
  /// The most endpoints of all ports of one Service. A user could name any number of ports.
  static constexpr size_t kMostOfAllPorts = 10'000;

  /// Tells `balancer` of all Services, and of each later change. The caller has read all Services.
  /// `balancer` is borrowed, and may be null.
  void StartTelling(ServiceBalancer* balancer) EXCLUDES(mutex_);
  void StopTelling() EXCLUDES(mutex_);

  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

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
  struct Endpoint {
    IpAddress address;
    std::string node;
  };
  struct Slice {
    std::string service;          ///< NAMESPACE/NAME
    std::vector<SpecPort> ports;  ///< with the endpoints' ports
    std::vector<Endpoint> endpoints;
  };
  struct Known {
    std::optional<Spec> spec;
    std::set<std::string> slices;  ///< keys of slices_
  };

  [[nodiscard]] static Spec SpecOf(const nlohmann::json& object);
  [[nodiscard]] static Slice SliceOf(const watcher::WatchEvent& event);
  [[nodiscard]] static SpecPort PortOf(const nlohmann::json& port);
  void HandleService(const watcher::WatchEvent& event) REQUIRES(mutex_);
  void HandleSlice(const watcher::WatchEvent& event) REQUIRES(mutex_);
  void RemoveSlice(const std::string& key) REQUIRES(mutex_);
  [[nodiscard]] Service ServiceOf(const Known& known) const REQUIRES(mutex_);
  /// At most `most` of them, sorted.
  [[nodiscard]] std::vector<ServiceEndpoint> EndpointsOf(const Known& known, const SpecPort& port,
                                                         size_t most) const REQUIRES(mutex_);
  void Tell(const std::string& key) REQUIRES(mutex_);

  mutable Mutex mutex_;
  ServiceBalancer* balancer_ GUARDED_BY(mutex_) = nullptr;
  std::map<std::string, Known> services_ GUARDED_BY(mutex_);  ///< by NAMESPACE/NAME
  std::map<std::string, Slice> slices_ GUARDED_BY(mutex_);    ///< by version and NAMESPACE/NAME
};

}  // namespace kuryr::controller
