#pragma once

#include <optional>
#include <string>

#include "controller/backends/neutron/vifs/vif_driver.h"

namespace kuryr::controller::neutron {

/// pod_vif_driver = neutron-vif: nodes are hosts of Neutron, which binds each port to the pod's
/// node.
class BoundPorts final : public VifDriver {
 public:
  /// Borrows both.
  BoundPorts(NeutronApi& api, const PodDefaults& defaults) : api_(api), defaults_(defaults) {}

  void Describe(PortRequest& request, const Owner& owner) const override;
  [[nodiscard]] PortFilter FilterOf(const std::string& owner_id) const override;
  [[nodiscard]] std::string OwnerIdOf(const Port& port) const override;
  /// PlanError kRetry if Neutron does not bind it.
  vif::Vif Join(const PodNode& node, const Port& port, const PodNetwork& network) override;
  void Delete(const std::string& port_id) override { api_.DeletePort(port_id); }
  [[nodiscard]] std::optional<std::string> PlaceOf(const PodNode& node) override;
  [[nodiscard]] std::optional<std::string> PlaceOf(const Port& port) override;
  [[nodiscard]] bool Makes(const vif::Vif& vif) const override;

 private:
  NeutronApi& api_;
  const PodDefaults& defaults_;
};

}  // namespace kuryr::controller::neutron
