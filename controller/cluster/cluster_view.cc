#include "controller/cluster/cluster_view.h"

#include <nlohmann/json.hpp>

#include "controller/owners/writer.h"

namespace kuryr::controller {

nlohmann::json ClusterView::Get(const std::string& path) { return client_.Get(path); }

nlohmann::json ClusterView::GetPod(const std::string& name_space, const std::string& name) {
  return Get(PodPath(name_space, name));
}

std::vector<IpNetwork> ClusterView::NodeNetworks(const std::string& node) {
  return nodes_.PodCidrsOf(node, client_);
}

std::vector<IpAddress> ClusterView::NodeAddresses(const std::string& node) {
  return nodes_.AddressesOf(node, client_);
}

bool ClusterView::IsNodeGone(const std::string& node) {
  return controller::IsNodeGone(node, client_);
}

}  // namespace kuryr::controller
