#include "binding/planned.h"

#include <algorithm>

namespace kuryr::binding {

uint32_t PlannedMtu::On(uint32_t below) const {
  const uint32_t mtu = of_network_.value_or(below);
  return limit_ > 0 ? std::min(limit_, mtu) : mtu;
}

Planned PlanCommon(const vif::PodVif& vif, const Plug& plug, const BindingConfig& config) {
  const vif::VifBase& common = vif::Common(vif.vif);
  Planned planned{.plug = plug};
  planned.mac = vif::Required(common.address, "$.address");
  planned.mtu = {vif::MtuOf(common), config.network_device_mtu};
  planned.l3 = PlanL3(common, vif.is_default);
  return planned;
}

}  // namespace kuryr::binding
