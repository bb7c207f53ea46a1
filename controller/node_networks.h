#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/thread_annotations.h"
#include "watcher/api_client.h"

namespace kuryr::controller {

/// What the API server knows of nodes, asked for when it is needed: few pools want it. Thread-safe.
class NodeNetworks {
 public:
  /// The Node's spec.podCIDRs, remembered once there are any. Throws what ApiClient does, and
  /// BackendError kRetry where the node has none yet.
  [[nodiscard]] std::vector<IpNetwork> Of(const std::string& node, watcher::ApiClient& client)
      EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::map<std::string, std::vector<IpNetwork>> known_ GUARDED_BY(mutex_);
};

/// Whether there is no such node any more. Throws what ApiClient does.
[[nodiscard]] bool IsNodeGone(const std::string& node, watcher::ApiClient& client);

}  // namespace kuryr::controller
