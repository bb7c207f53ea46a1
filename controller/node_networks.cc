#include "controller/node_networks.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "controller/backend.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

std::string NodePath(const std::string& node) { return "/api/v1/nodes/" + node; }

std::vector<IpNetwork> PodCidrsOf(const json& node) {
  std::vector<IpNetwork> networks;
  const json cidrs = node.value("/spec/podCIDRs"_json_pointer, json::array());
  for (const json& cidr : cidrs) {
    const auto network =
        cidr.is_string() ? IpNetwork::Parse(cidr.get<std::string>()) : std::nullopt;
    if (network) networks.push_back(*network);
  }
  return networks;
}

}  // namespace

std::vector<IpNetwork> NodeNetworks::Of(const std::string& node, watcher::ApiClient& client) {
  {
    const MutexLock lock(mutex_);
    const auto known = known_.find(node);
    if (known != known_.end()) return known->second;
  }
  std::vector<IpNetwork> networks = PodCidrsOf(client.Get(NodePath(node)));
  if (networks.empty()) {
    throw BackendError(BackendError::Kind::kRetry,
                       "node " + Printable(node) +
                           " has no spec.podCIDRs: start kube-controller-manager with "
                           "--allocate-node-cidrs, or give the pool a cidr");
  }
  const MutexLock lock(mutex_);
  return known_[node] = std::move(networks);
}

bool IsNodeGone(const std::string& node, watcher::ApiClient& client) {
  try {
    (void)client.GetText(NodePath(node));
    return false;
  } catch (const watcher::ApiError& e) {
    if (e.code() == watcher::ApiError::kNotFound) return true;
    throw;
  }
}

}  // namespace kuryr::controller
