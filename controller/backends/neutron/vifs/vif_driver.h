#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "controller/backends/backend.h"
#include "controller/backends/neutron/api/neutron_api.h"
#include "controller/backends/neutron/networks/networks.h"
#include "controller/backends/neutron/settings/pod_defaults.h"
#include "vif/vif.h"

namespace kuryr::controller::neutron {

/// The node that plugs a pod's ports.
struct PodNode {
  std::string name;
  std::vector<IpAddress> addresses;
};

/// How ports reach their pods: [kubernetes] pod_vif_driver. Calls that change something may fail
/// and be made again; they throw NeutronError and PlanError then. Thread-safe for different
/// ports.
class VifDriver {
 public:
  VifDriver() = default;
  VifDriver(const VifDriver&) = delete;
  VifDriver& operator=(const VifDriver&) = delete;
  virtual ~VifDriver() = default;

  /// Writes the port's owner and node into the request.
  virtual void Describe(PortRequest& request, const Owner& owner) const = 0;
  /// The owner's ports; of every owner when the id is empty.
  [[nodiscard]] virtual PortFilter FilterOf(const std::string& owner_id) const = 0;
  /// Empty: this driver has not described the port.
  [[nodiscard]] virtual std::string OwnerIdOf(const Port& port) const = 0;

  /// Makes the port reach the node's pods, and returns its VIF.
  virtual vif::Vif Join(const PodNode& node, const Port& port, const PodNetwork& network) = 0;
  /// Undoes Join and deletes the port. A port that is not there is no error.
  virtual void Delete(const std::string& port_id) = 0;

  /// The place of the node's pods' ports: a host of Neutron, or a trunk. nullopt: the driver has no
  /// places, or the node has none.
  [[nodiscard]] virtual std::optional<std::string> PlaceOf(const PodNode& /*node*/) {
    return std::nullopt;
  }
  /// The place where pods can get the port; nullopt: there is none.
  [[nodiscard]] virtual std::optional<std::string> PlaceOf(const Port& /*port*/) {
    return std::nullopt;
  }
  /// Learns the places of ports that other programs made.
  virtual void Learn() {}

  /// Whether Join could make the VIF of the port with its id.
  [[nodiscard]] virtual bool Makes(const vif::Vif& vif) const = 0;
};

/// Makes the driver that `defaults` names; borrows both.
[[nodiscard]] std::unique_ptr<VifDriver> MakeVifDriver(NeutronApi& api,
                                                       const PodDefaults& defaults);

}  // namespace kuryr::controller::neutron
