#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "binding/drivers/drivers.h"
#include "binding/parts/driver.h"
#include "binding/parts/pod_link_part.h"
#include "binding/parts/port_part.h"
#include "binding/parts/veth_part.h"
#include "binding/plan/neutron_port.h"
#include "binding/plan/vif_fields.h"

namespace kuryr::binding {
namespace {

class OvsDriver final : public Driver {
 public:
  explicit OvsDriver(DriverContext context) : Driver(std::move(context)) {}

  [[nodiscard]] Plug ChoosePlug(const vif::Vif& vif, const std::string& ifname) const override {
    const auto& own = OwnVif<vif::VifOpenVSwitch>(vif, kOvsDriver);
    RequireNoRepresentor(vif);
    return {.driver = kOvsDriver,
            .ifname = ifname,
            .host_interface = LinkNameOf(own.vif_name, "$.vif_name"),
            .bridge = BridgeOf(own.bridge_name, own)};
  }

  [[nodiscard]] Planned PlanWith(const vif::PodVif& vif, const Plug& plug) const override {
    Planned planned = PlanCommon(vif, plug, context_.config);
    PlanPort(Common(vif.vif), plug, plug.host_interface, context_.config, planned);
    PlanPortSecurity(Common(vif.vif), context_.config, planned);
    return planned;
  }

 protected:
  [[nodiscard]] Parts PartsOf(PlugSite& site) const override {
    const std::string& tap = site.plug().host_interface;
    Parts parts;
    Add<PortNamePart>(parts, site, std::vector{tap});
    Add<VethPart>(parts, site);
    Add<PortPart>(parts, site, tap, PortPart::Shown::kAsInterface);
    Add<PodLinkPart>(parts, site, PodLinkSettings{.kind = "veth", .makes_checksums = true});
    Add<Layer3Part>(parts, site);
    return parts;
  }
};

}  // namespace

std::unique_ptr<Driver> NewOvsDriver(const DriverContext& context) {
  return std::make_unique<OvsDriver>(context);
}

}  // namespace kuryr::binding
