#include "controller/backends/neutron/vifs/paired_ports.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "controller/backends/neutron/ports/port_request.h"
#include "controller/backends/neutron/vifs/port_vif.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = PlanError::Kind;
using Pairs = std::vector<AddressPair>;

Pairs PairsOf(const Port& port) {
  Pairs pairs;
  for (const FixedIp& ip : port.fixed_ips) {
    const auto length = static_cast<uint8_t>(ip.address.size() * 8);
    pairs.push_back({.network = {ip.address, length}, .mac = port.mac});
  }
  return pairs;
}

bool Has(const Pairs& pairs, const AddressPair& wanted) {
  return std::find(pairs.begin(), pairs.end(), wanted) != pairs.end();
}

Pairs With(Pairs pairs, const Pairs& more) {
  for (const AddressPair& pair : more) {
    if (!Has(pairs, pair)) pairs.push_back(pair);
  }
  return pairs;
}

Pairs Without(Pairs pairs, const Pairs& fewer) {
  std::erase_if(pairs, [&](const AddressPair& pair) { return Has(fewer, pair); });
  return pairs;
}

}  // namespace

void PairedPorts::Describe(PortRequest& request, const Owner& owner) const {
  request.device_id = owner.id;
}

PortFilter PairedPorts::FilterOf(const std::string& owner_id) const {
  return {.device_owner = kDeviceOwner, .device_id = owner_id};
}

std::string PairedPorts::OwnerIdOf(const Port& port) const {
  return port.device_owner == kDeviceOwner ? port.device_id : "";
}

vif::Vif PairedPorts::Join(const PodNode& node, const Port& port, const PodNetwork& network) {
  vif::Vif vif = MacvlanVifOf(port, network);
  NodePort node_port = nodes_.Find(node);
  {
    const MutexLock lock(mutex_);
    node_ports_.insert_or_assign(port.id, node_port.id);
  }
  const std::string id = node_port.id;
  if (!Update(std::move(node_port), [&](const Pairs& all) { return With(all, PairsOf(port)); }))
    throw PlanError(Kind::kGone, "port " + id + " of node " + Printable(node.name) + " is gone");
  return vif;
}

bool PairedPorts::Update(NodePort node, const Change& change) {
  const MutexLock lock(updates_.at(std::hash<std::string>()(node.id) % updates_.size()));
  for (uint32_t tries = 0; tries < defaults_.update_attempts; ++tries) {
    const Pairs wanted = change(node.address_pairs);
    if (wanted == node.address_pairs) return true;
    try {
      api_.SetAddressPairs(node.id, wanted, node.revision);
      return true;
    } catch (const NeutronError& e) {
      if (e.kind() != NeutronError::Kind::kPrecondition) throw;
    }
    auto now = nodes_.Get(node.id);
    if (!now) return false;
    node = std::move(*now);
  }
  throw PlanError(Kind::kRetry,
                  "port " + node.id + " of the node is changed by others again and again");
}

void PairedPorts::Delete(const std::string& port_id) {
  std::optional<Port> port;
  try {
    port = api_.GetPort(port_id);
  } catch (const NeutronError& e) {
    if (e.kind() != NeutronError::Kind::kNotFound) throw;
  }
  if (port) {
    const Pairs pairs = PairsOf(*port);
    for (NodePort& node : NodesWith(port_id, pairs))
      (void)Update(std::move(node), [&](const Pairs& all) { return Without(all, pairs); });
    api_.DeletePort(port_id);
  }
  const MutexLock lock(mutex_);
  node_ports_.erase(port_id);
}

std::vector<NodePort> PairedPorts::NodesWith(const std::string& port_id, const Pairs& pairs) {
  std::optional<std::string> known;
  {
    const MutexLock lock(mutex_);
    const auto found = node_ports_.find(port_id);
    if (found != node_ports_.end()) known = found->second;
  }
  std::vector<NodePort> nodes;
  if (!known) {
    nodes = nodes_.All();
  } else if (auto node = nodes_.Get(*known)) {
    nodes.push_back(std::move(*node));
  }
  std::erase_if(nodes, [&](const NodePort& node) {
    return std::none_of(pairs.begin(), pairs.end(),
                        [&](const AddressPair& pair) { return Has(node.address_pairs, pair); });
  });
  return nodes;
}

bool PairedPorts::Makes(const vif::Vif& vif) const {
  return IsNestedVif<vif::VifMacvlanNested>(vif);
}

}  // namespace kuryr::controller::neutron
