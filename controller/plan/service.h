#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"

namespace kuryr::controller {

struct ServiceEndpoint {
  IpAddress address;
  uint16_t port = 0;

  auto operator<=>(const ServiceEndpoint&) const = default;
};

struct ServicePort {
  std::string protocol;  ///< "tcp", "udp" or "sctp"
  uint16_t port = 0;
  std::vector<ServiceEndpoint> endpoints;  ///< those that are ready, of all families, sorted

  bool operator==(const ServicePort&) const = default;
};

/// A Service of the cluster, as pods reach it by its cluster IPs.
struct Service {
  std::vector<IpAddress> cluster_ips;  ///< none: it is headless, or an ExternalName
  /// How long a client keeps its endpoint; nullopt: each connection chooses anew.
  std::optional<std::chrono::seconds> affinity;
  std::vector<ServicePort> ports;

  bool operator==(const Service&) const = default;
};

}  // namespace kuryr::controller
