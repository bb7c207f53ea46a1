#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/thread_annotations.h"
#include "controller/kinds/watched_kind.h"

namespace kuryr::controller {

/// The networks of the cluster's Services: those of kuryr.conf, and those of ServiceCIDRs, which a
/// Kubernetes of 1.33 or later has. Thread-safe. (k8s.io/api networking/v1)
class ServiceCidrs : public WatchedResource {
 public:
  explicit ServiceCidrs(const KindParts& parts)
      : WatchedResource("ServiceCIDR"),
        configured_(parts.node_network.service_cidrs),
        gives_routes_(parts.node_network.enabled && !parts.needs.services) {}

  [[nodiscard]] std::vector<WatchedPath> Paths() override;

  /// The configured ones first. None of the others is within another one.
  [[nodiscard]] std::vector<IpNetwork> All() const EXCLUDES(mutex_);

 protected:
  void OnPresent(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  void OnDeleted(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  const std::vector<IpNetwork> configured_;
  const bool gives_routes_;  ///< to pods
  mutable Mutex mutex_;
  std::map<std::string, std::vector<IpNetwork>> objects_ GUARDED_BY(mutex_);  ///< by name
};

}  // namespace kuryr::controller
