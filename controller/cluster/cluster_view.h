#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "controller/cluster/nodes.h"
#include "watcher/api_client.h"

namespace kuryr::controller {

/// Reads of a round from the API server, where the watches do not tell enough, or may be late.
/// All throw what ApiClient does. Not thread-safe.
class ClusterView {
 public:
  /// Borrows both.
  ClusterView(watcher::ApiClient& client, Nodes& nodes) : client_(client), nodes_(nodes) {}

  [[nodiscard]] nlohmann::json Get(const std::string& path);
  /// ApiError kNotFound where there is no such pod.
  [[nodiscard]] nlohmann::json GetPod(const std::string& name_space, const std::string& name);
  /// As Nodes::PodCidrsOf.
  [[nodiscard]] std::vector<IpNetwork> NodeNetworks(const std::string& node);
  /// As Nodes::AddressesOf.
  [[nodiscard]] std::vector<IpAddress> NodeAddresses(const std::string& node);
  [[nodiscard]] bool IsNodeGone(const std::string& node);

 private:
  watcher::ApiClient& client_;
  Nodes& nodes_;
};

}  // namespace kuryr::controller
