#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/vifs/node_ports.h"
#include "controller/backends/neutron/vifs/vif_driver.h"
#include "controller/backends/neutron/vifs/vlan_ids.h"

namespace kuryr::controller::neutron {

/// pod_vif_driver = nested-vlan: nodes are virtual machines, and each pod's port is a sub-port of
/// its node's trunk. Neutron refuses a sub-port with a device_id, and writes device_owner itself.
/// So the description names the owner.
class TrunkPorts final : public VifDriver {
 public:
  /// Borrows both.
  TrunkPorts(NeutronApi& api, const PodDefaults& defaults) : api_(api), nodes_(api, defaults) {}

  void Describe(PortRequest& request, const Owner& owner) const override;
  [[nodiscard]] PortFilter FilterOf(const std::string& owner_id) const override;
  [[nodiscard]] std::string OwnerIdOf(const Port& port) const override;
  /// A port that is already in the trunk keeps its VLAN. PlanError kExhausted if no VLAN is free,
  /// kGone if the node has no trunk.
  vif::Vif Join(const PodNode& node, const Port& port, const PodNetwork& network) override;
  void Delete(const std::string& port_id) override;
  [[nodiscard]] std::optional<std::string> PlaceOf(const PodNode& node) override;
  /// Knows only ports that Join or Learn has seen in a trunk.
  [[nodiscard]] std::optional<std::string> PlaceOf(const Port& port) override EXCLUDES(mutex_);
  /// Learns the sub-ports of all nodes' trunks, as Neutron has them now.
  void Learn() override EXCLUDES(mutex_);
  [[nodiscard]] bool Makes(const vif::Vif& vif) const override;

 private:
  /// nullopt: another client took the VLAN first.
  [[nodiscard]] std::optional<uint16_t> TryAdd(const NodePort& node, const std::string& port_id);
  [[nodiscard]] std::optional<std::string> TrunkOf(const std::string& port_id) EXCLUDES(mutex_);
  void Remember(const std::string& port_id, const std::string& trunk_id) EXCLUDES(mutex_);
  void RemoveAndDelete(const std::string& trunk_id, const std::string& port_id) EXCLUDES(mutex_);

  NeutronApi& api_;
  NodePorts nodes_;
  VlanIds vlans_;
  Mutex mutex_;
  std::unordered_map<std::string, std::string> trunks_ GUARDED_BY(mutex_);  ///< by sub-port
};

}  // namespace kuryr::controller::neutron
