#include "controller/backends/neutron/vifs/bound_ports.h"

#include "base/error.h"
#include "controller/backends/neutron/ports/port_request.h"
#include "controller/backends/neutron/vifs/port_vif.h"

namespace kuryr::controller::neutron {
namespace {

PlanError NotBound(const Port& port, const std::string& host) {
  return {PlanError::Kind::kRetry,
          "Neutron has not bound port " + port.id + " to host \"" + Printable(host) + "\" (" +
              Printable(port.vif_type) +
              "): no agent or chassis that lives has this name; where a node's host has another "
              "one, [neutron_defaults] host_mapping says so"};
}

}  // namespace

void BoundPorts::Describe(PortRequest& request, const Owner& owner) const {
  request.device_id = owner.id;
  request.host_id = defaults_.HostOf(owner.node);
}

PortFilter BoundPorts::FilterOf(const std::string& owner_id) const {
  return {.device_owner = kDeviceOwner, .device_id = owner_id};
}

std::string BoundPorts::OwnerIdOf(const Port& port) const {
  return port.device_owner == kDeviceOwner ? port.device_id : "";
}

vif::Vif BoundPorts::Join(const PodNode& node, const Port& port, const PodNetwork& network) {
  if (!IsUnbound(port)) return VifOf(port, network, defaults_);
  const std::string host = defaults_.HostOf(node.name);
  const Port bound = api_.BindPort(port.id, host);
  if (IsUnbound(bound)) throw NotBound(bound, host);
  return VifOf(bound, network, defaults_);
}

std::optional<std::string> BoundPorts::PlaceOf(const PodNode& node) {
  return defaults_.HostOf(node.name);
}

std::optional<std::string> BoundPorts::PlaceOf(const Port& port) {
  if (IsUnbound(port) || port.device_owner != kDeviceOwner) return std::nullopt;
  return port.host_id;
}

bool BoundPorts::Makes(const vif::Vif& vif) const { return IsPortVif(vif); }

}  // namespace kuryr::controller::neutron
