#include <algorithm>
#include <cstdio>

#include "tests/controller/backends/neutron/fake_neutron.h"

// The part of FakeNeutron for virtual machines that are nodes: their ports and trunks.

namespace kuryr::controller::neutron {
namespace {

using ErrorKind = NeutronError::Kind;

bool Matches(const NodePort& port, const NodePortFilter& filter) {
  if (!filter.id.empty() && filter.id != port.id) return false;
  const auto has = [&](const FixedIp& ip) {
    return (!filter.address || *filter.address == ip.address) &&
           (filter.subnet_id.empty() || filter.subnet_id == ip.subnet_id);
  };
  return std::any_of(port.fixed_ips.begin(), port.fixed_ips.end(), has);
}

}  // namespace

NodePort FakeNeutron::AddNode(const std::string& address, const std::string& trunk) {
  const MutexLock lock(mutex_);
  char id[40];
  (void)std::snprintf(id, sizeof id, "40f2895a-55ad-437a-ab74-%012zx", nodes_.size() + 1);
  return nodes_[id] = {.id = id,
                       .fixed_ips = {{kNodeSubnet, IpAddress::Parse(address).value()}},
                       .trunk_id = trunk,
                       .revision = 7};
}

void FakeNeutron::ChangeNode(const std::string& id, const std::function<void(NodePort&)>& change) {
  const MutexLock lock(mutex_);
  change(nodes_.at(id));
  ++nodes_.at(id).revision;
}

NodePort FakeNeutron::Node(const std::string& id) const {
  const MutexLock lock(mutex_);
  return nodes_.at(id);
}

std::string FakeNeutron::TrunkOf(const std::string& port_id) const {
  for (const auto& [id, node] : nodes_) {
    for (const SubPort& sub_port : node.sub_ports) {
      if (sub_port.port_id == port_id) return node.trunk_id;
    }
  }
  return "";
}

NodePort& FakeNeutron::TrunkAt(const std::string& trunk_id) {
  for (auto& [id, node] : nodes_) {
    if (node.trunk_id == trunk_id) return node;
  }
  Refuse(ErrorKind::kNotFound, 404, "TrunkNotFound", "Trunk " + trunk_id + " could not be found.");
}

std::vector<NodePort> FakeNeutron::ListNodePorts(const NodePortFilter& filter) {
  return Call("ListNodePorts", [&]() KURYR_TSA(requires_capability(mutex_)) {
    std::vector<NodePort> found;
    for (const auto& [id, node] : nodes_) {
      if (Matches(node, filter)) found.push_back(node);
    }
    return found;
  });
}

/// Refuses a port with a device_id, and sets its device_owner, as Neutron does.
void FakeNeutron::AddSubPort(const std::string& trunk_id, const SubPort& sub_port) {
  (void)Call("AddSubPort", [&]() KURYR_TSA(requires_capability(mutex_)) {
    NodePort& node = TrunkAt(trunk_id);
    Port& port = At(sub_port.port_id);
    if (!port.device_id.empty())
      Refuse(ErrorKind::kConflict, 409, "PortInUse", "Port " + port.id + " has a device.");
    if (!TrunkOf(port.id).empty())
      Refuse(ErrorKind::kConflict, 409, "TrunkPortInUse", "Port " + port.id + " is in a trunk.");
    for (const SubPort& other : node.sub_ports) {
      if (other.vlan == sub_port.vlan)
        Refuse(ErrorKind::kConflict, 409, kSubPortExists, "already in use on trunk " + trunk_id);
    }
    node.sub_ports.push_back(sub_port);
    port.device_owner = "trunk:subport";
    ++port.revision;
    return true;
  });
}

void FakeNeutron::RemoveSubPort(const std::string& trunk_id, const std::string& port_id) {
  (void)Call("RemoveSubPort", [&]() KURYR_TSA(requires_capability(mutex_)) {
    std::erase_if(TrunkAt(trunk_id).sub_ports,
                  [&](const SubPort& sub_port) { return sub_port.port_id == port_id; });
    const auto port = ports_.find(port_id);
    if (port != ports_.end()) port->second.device_owner = "";
    return true;
  });
}

void FakeNeutron::SetAddressPairs(const std::string& port_id, const std::vector<AddressPair>& pairs,
                                  int64_t revision) {
  (void)Call("SetAddressPairs", [&]() KURYR_TSA(requires_capability(mutex_)) {
    const auto node = nodes_.find(port_id);
    if (node == nodes_.end())
      Refuse(ErrorKind::kNotFound, 404, "PortNotFound", "Port " + port_id + " could not be found.");
    if (node->second.revision != revision)
      Refuse(ErrorKind::kPrecondition, 412, "RevisionNumberConstraintFailed",
             "Constrained to another");
    node->second.address_pairs = pairs;
    ++node->second.revision;
    return true;
  });
}

}  // namespace kuryr::controller::neutron
