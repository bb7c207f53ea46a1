#include "controller/cluster/node_networks.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "controller/backends/backend.h"
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

std::vector<IpAddress> InternalAddressesOf(const json& node) {
  std::vector<IpAddress> addresses;
  const json listed = node.value("/status/addresses"_json_pointer, json::array());
  for (const json& entry : listed) {
    if (!entry.is_object() || StringAt(entry, "type") != "InternalIP") continue;
    if (const auto address = IpAddress::Parse(StringAt(entry, "address")))
      addresses.push_back(*address);
  }
  return addresses;
}

/// The Node object. kRetry if it is missing: it may still come, and no watch tells when.
json Find(const std::string& node, watcher::ApiClient& client) {
  try {
    return client.Get(NodePath(node));
  } catch (const watcher::ApiError& e) {
    if (e.code() != watcher::ApiError::kNotFound) throw;
    throw BackendError(BackendError::Kind::kRetry, "node " + Printable(node) + " is not there");
  }
}

}  // namespace

std::vector<IpNetwork> NodeNetworks::Of(const std::string& node, watcher::ApiClient& client) {
  {
    const MutexLock lock(mutex_);
    const auto known = networks_.find(node);
    if (known != networks_.end() && now_() < known->second.until) return known->second.networks;
  }
  std::vector<IpNetwork> networks = PodCidrsOf(Find(node, client));
  if (networks.empty()) {
    throw BackendError(BackendError::Kind::kRetry,
                       "node " + Printable(node) +
                           " has no spec.podCIDRs: start kube-controller-manager with "
                           "--allocate-node-cidrs, or give the pool a cidr");
  }
  const MutexLock lock(mutex_);
  networks_.insert_or_assign(node, Networks{networks, now_() + kFresh});
  return networks;
}

std::vector<IpAddress> NodeNetworks::AddressesOf(const std::string& node,
                                                 watcher::ApiClient& client) {
  {
    const MutexLock lock(mutex_);
    const auto known = addresses_.find(node);
    if (known != addresses_.end() && now_() < known->second.until) return known->second.addresses;
  }
  std::vector<IpAddress> addresses = InternalAddressesOf(Find(node, client));
  if (addresses.empty()) {
    throw BackendError(BackendError::Kind::kRetry,
                       "node " + Printable(node) +
                           " has no status.addresses of type InternalIP: its kubelet, or the "
                           "cloud controller, writes them");
  }
  const MutexLock lock(mutex_);
  addresses_.insert_or_assign(node, Addresses{addresses, now_() + kFresh});
  return addresses;
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
