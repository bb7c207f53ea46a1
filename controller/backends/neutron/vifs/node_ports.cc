#include "controller/backends/neutron/vifs/node_ports.h"

#include <algorithm>

#include "base/error.h"

namespace kuryr::controller::neutron {
namespace {

std::string ListOf(const std::vector<IpAddress>& addresses) {
  std::string text;
  for (const IpAddress& address : addresses)
    text += (text.empty() ? "" : ", ") + address.ToString();
  return text;
}

bool Has(const NodePort& port, const IpAddress& address, const std::vector<std::string>& subnets) {
  return std::any_of(port.fixed_ips.begin(), port.fixed_ips.end(), [&](const FixedIp& ip) {
    return ip.address == address &&
           std::find(subnets.begin(), subnets.end(), ip.subnet_id) != subnets.end();
  });
}

}  // namespace

NodePort NodePorts::Find(const PodNode& node) {
  for (const IpAddress& address : node.addresses) {
    for (NodePort& port : api_.ListNodePorts({.address = address})) {
      if (Has(port, address, defaults_.worker_subnets)) return std::move(port);
    }
  }
  throw PlanError(PlanError::Kind::kGone,
                  "node " + Printable(node.name) + " (" + ListOf(node.addresses) +
                      ") has no port of Neutron with its InternalIP in a subnet of "
                      "[pod_vif_nested] worker_nodes_subnets");
}

std::optional<NodePort> NodePorts::Get(const std::string& id) {
  std::vector<NodePort> found = api_.ListNodePorts({.id = id});
  if (found.empty() || found.front().id != id) return std::nullopt;
  return std::move(found.front());
}

std::vector<NodePort> NodePorts::All() {
  std::vector<NodePort> all;
  for (const std::string& subnet : defaults_.worker_subnets) {
    std::vector<NodePort> some = api_.ListNodePorts({.subnet_id = subnet});
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace kuryr::controller::neutron
