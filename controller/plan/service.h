#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"

namespace kuryr::controller {

struct ServiceEndpoint {
  IpAddress address;
  uint16_t port = 0;
  std::string node;  ///< the endpoint's, for a Service that is local; empty: it names none

  auto operator<=>(const ServiceEndpoint&) const = default;
};

/// By the name of the clients' node or zone.
using EndpointsByClient = std::map<std::string, std::vector<ServiceEndpoint>>;

struct ServicePort {
  /// The most endpoints that are balanced; of a local Service, those of each node. A user could
  /// make any number of EndpointSlices. The API server puts as many into an Endpoints object.
  static constexpr size_t kMostEndpoints = 1000;

  std::string protocol;  ///< "tcp", "udp" or "sctp"
  uint16_t port = 0;
  std::vector<ServiceEndpoint> endpoints;  ///< those that serve, of all families, sorted
  /// What clients of a node reach in their place, or else those of a zone. Each family counts by
  /// itself. None of a local Service.
  EndpointsByClient of_node;
  EndpointsByClient of_zone;

  bool operator==(const ServicePort&) const = default;
};

/// A Service of the cluster, as pods reach it by its cluster IPs.
struct Service {
  std::vector<IpAddress> cluster_ips;  ///< none: it is headless, or an ExternalName
  /// How long a client keeps its endpoint; nullopt: each connection chooses anew.
  std::optional<std::chrono::seconds> affinity;
  bool local = false;  ///< a pod reaches the endpoints of its own node alone
  std::vector<ServicePort> ports;

  bool operator==(const Service&) const = default;
};

/// Whether clients of some nodes or zones reach other endpoints than the rest.
[[nodiscard]] inline bool HasPreferences(const Service& service) {
  return std::any_of(service.ports.begin(), service.ports.end(), [](const ServicePort& port) {
    return !port.of_node.empty() || !port.of_zone.empty();
  });
}

}  // namespace kuryr::controller
