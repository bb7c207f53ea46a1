#include "controller/backends/neutron/vifs/trunk_ports.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "controller/backends/neutron/vifs/port_vif.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = PlanError::Kind;

constexpr std::string_view kOwnerPrefix = "pod ";
constexpr int kMostTries = 5;

std::set<uint16_t> VlansOf(const NodePort& node) {
  std::set<uint16_t> vlans;
  for (const SubPort& sub_port : node.sub_ports) vlans.insert(sub_port.vlan);
  return vlans;
}

std::optional<uint16_t> VlanOf(const NodePort& node, const std::string& port_id) {
  const auto found =
      std::find_if(node.sub_ports.begin(), node.sub_ports.end(),
                   [&](const SubPort& sub_port) { return sub_port.port_id == port_id; });
  if (found == node.sub_ports.end()) return std::nullopt;
  return found->vlan;
}

}  // namespace

void TrunkPorts::Describe(PortRequest& request, const Owner& owner) const {
  request.description = std::string(kOwnerPrefix) + owner.id;
}

PortFilter TrunkPorts::FilterOf(const std::string& owner_id) const {
  if (owner_id.empty()) return {};
  return {.description = std::string(kOwnerPrefix) + owner_id};
}

std::string TrunkPorts::OwnerIdOf(const Port& port) const {
  const bool is_ours = port.description.starts_with(kOwnerPrefix);
  return is_ours ? port.description.substr(kOwnerPrefix.size()) : "";
}

vif::Vif TrunkPorts::Join(const PodNode& pod_node, const Port& port, const PodNetwork& network) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    const NodePort node = nodes_.Find(pod_node);
    if (node.trunk_id.empty())
      throw PlanError(Kind::kGone, "port " + node.id + " of node " + Printable(pod_node.name) +
                                       " is no trunk's: openstack network trunk create "
                                       "--parent-port makes one");
    auto vlan = VlanOf(node, port.id);
    if (!vlan) vlan = TryAdd(node, port.id);
    if (!vlan) continue;
    Remember(port.id, node.trunk_id);
    return VlanVifOf(port, network, *vlan);
  }
  throw PlanError(Kind::kRetry,
                  "somebody else takes the VLANs of node " + Printable(pod_node.name));
}

std::optional<uint16_t> TrunkPorts::TryAdd(const NodePort& node, const std::string& port_id) {
  const auto vlan = vlans_.Take(node.trunk_id, VlansOf(node));
  if (!vlan) throw PlanError(Kind::kExhausted, "trunk " + node.trunk_id + " has no free VLAN");
  try {
    api_.AddSubPort(node.trunk_id, {.port_id = port_id, .vlan = *vlan});
  } catch (const NeutronError& e) {
    vlans_.Return(node.trunk_id, *vlan);
    if (e.type() != kSubPortExists) throw;
    return std::nullopt;
  }
  vlans_.Return(node.trunk_id, *vlan);
  return vlan;
}

void TrunkPorts::Delete(const std::string& port_id) {
  if (const auto trunk = TrunkOf(port_id)) return RemoveAndDelete(*trunk, port_id);
  try {
    api_.DeletePort(port_id);
  } catch (const NeutronError& e) {
    if (e.type() != kPortIsSubPort) throw;
    Learn();
    const auto trunk = TrunkOf(port_id);
    if (!trunk) throw;
    RemoveAndDelete(*trunk, port_id);
  }
}

void TrunkPorts::RemoveAndDelete(const std::string& trunk_id, const std::string& port_id) {
  api_.RemoveSubPort(trunk_id, port_id);
  {
    const MutexLock lock(mutex_);
    trunks_.erase(port_id);
  }
  api_.DeletePort(port_id);
}

std::optional<std::string> TrunkPorts::PlaceOf(const PodNode& pod_node) {
  const NodePort node = nodes_.Find(pod_node);
  if (node.trunk_id.empty()) return std::nullopt;
  return node.trunk_id;
}

std::optional<std::string> TrunkPorts::PlaceOf(const Port& port) { return TrunkOf(port.id); }

bool TrunkPorts::Makes(const vif::Vif& vif) const { return IsNestedVif<vif::VifVlanNested>(vif); }

std::optional<std::string> TrunkPorts::TrunkOf(const std::string& port_id) {
  const MutexLock lock(mutex_);
  const auto found = trunks_.find(port_id);
  if (found == trunks_.end()) return std::nullopt;
  return found->second;
}

void TrunkPorts::Learn() {
  for (const NodePort& node : nodes_.All()) {
    for (const SubPort& sub_port : node.sub_ports) Remember(sub_port.port_id, node.trunk_id);
  }
}

void TrunkPorts::Remember(const std::string& port_id, const std::string& trunk_id) {
  const MutexLock lock(mutex_);
  trunks_.insert_or_assign(port_id, trunk_id);
}

}  // namespace kuryr::controller::neutron
