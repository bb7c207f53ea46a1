#include "controller/backends/neutron/vifs/vif_driver.h"

#include "controller/backends/neutron/vifs/bound_ports.h"
#include "controller/backends/neutron/vifs/paired_ports.h"
#include "controller/backends/neutron/vifs/trunk_ports.h"

namespace kuryr::controller::neutron {

std::unique_ptr<VifDriver> MakeVifDriver(NeutronApi& api, const PodDefaults& defaults) {
  switch (defaults.driver) {
    case PodVifDriver::kNeutronVif:
      break;
    case PodVifDriver::kNestedVlan:
      return std::make_unique<TrunkPorts>(api, defaults);
    case PodVifDriver::kNestedMacvlan:
      return std::make_unique<PairedPorts>(api, defaults);
  }
  return std::make_unique<BoundPorts>(api, defaults);
}

}  // namespace kuryr::controller::neutron
