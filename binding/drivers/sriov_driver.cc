#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "binding/devices/lent_vf.h"
#include "binding/devices/vf.h"
#include "binding/drivers/drivers.h"
#include "binding/links/interfaces.h"
#include "binding/parts/driver.h"
#include "binding/parts/link_check.h"
#include "binding/parts/pod_link_part.h"
#include "binding/parts/port_part.h"
#include "binding/plan/neutron_port.h"
#include "binding/plan/vif_fields.h"
#include "binding/try_all.h"

namespace kuryr::binding {
namespace {

constexpr uint16_t kMaxVlan = 4094;

/// The device and, where it has one, the bridge of its representor.
struct Device {
  vif::PciAddress address;
  std::string bridge;
};

/// vlan_name, or where that says nothing the network's provider VLAN.
uint16_t VlanOf(const vif::VifSriov& vif) {
  const std::string name = vif.vlan_name.value_or("");
  if (name.empty()) {
    const bool tagged = vif.network.has_value() && vif.network->should_provide_vlan.value_or(false);
    return tagged ? vif::Required(vif.network->vlan, "$.network.vlan") : uint16_t{0};
  }
  uint16_t vlan = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), vlan);
  if (error != std::errc() || end != name.data() + name.size() || vlan == 0 || vlan > kMaxVlan)
    throw ParseError("$.vlan_name", "\"" + Printable(name) + "\" is no VLAN id (1 to 4094)");
  return vlan;
}

Device DeviceOf(const vif::Vif& vif) {
  if (const auto* own = std::get_if<vif::VifSriov>(&vif))
    return {.address = vif::Required(own->dev_address, "$.dev_address")};
  const auto& own = OwnVif<vif::VifHostDevice>(vif, kSriovDriver);
  if (own.dev_type.has_value() && *own.dev_type != vif::HostDeviceType::kEthernet)
    throw UnsupportedVif("VIFHostDevice that is no Ethernet device ($.dev_type)");
  const vif::Network& network = vif::Required(own.network, "$.network");
  return {.address = vif::Required(own.dev_address, "$.dev_address"),
          .bridge = LinkNameOf(network.bridge, "$.network.bridge")};
}

/// The port profile's words on the representor. Producers write a name that the interface has
/// nowhere on the node (Nova: its tap name), so the card's switch decides.
struct RepresentorFields {
  std::string name;
  std::string address;  ///< the VF's

  explicit RepresentorFields(const vif::VifBase& vif) {
    if (!vif.port_profile.has_value()) return;
    const vif::PortProfile& profile = *vif.port_profile;
    if (const auto* own = std::get_if<vif::PortProfileOvsRepresentor>(&profile)) {
      name = own->representor_name.value_or("");
      if (own->representor_address.has_value()) address = own->representor_address->ToString();
    }
    const auto& offload = std::visit(
        [](const vif::PortProfileBase& base) -> const auto& { return base.datapath_offload; },
        profile);
    if (!offload.has_value()) return;
    if (const auto* own = std::get_if<vif::DatapathOffloadRepresentor>(&*offload)) {
      name = own->representor_name.value_or(name);
      address = own->representor_address.value_or(address);
    }
  }
};

/// The port profile's name for the representor, as a hint.
std::string RepresentorHint(const vif::VifBase& vif, const vif::PciAddress& device) {
  const RepresentorFields fields(vif);
  if (!fields.address.empty() && vif::PciAddress::Parse(fields.address) != device) {
    throw ParseError("$.port_profile", "has the representor of " + Printable(fields.address) +
                                           ", but $.dev_address is " + device.ToString());
  }
  return fields.name;
}

/// Plans a port as the driver ovs does, which removes it when the record is lost. The name is the
/// hint until the card's switch has said it.
void PlanRepresentor(const vif::VifBase& vif, const BindingConfig& config, Planned& planned) {
  const std::string hint = RepresentorHint(vif, PciAddressOf(planned.plug));
  const Plug port = {.driver = kOvsDriver,
                     .ifname = planned.plug.ifname,
                     .host_interface = hint,
                     .bridge = planned.plug.bridge};
  PlanPort(vif, port, hint, config, planned);
}

Vf RequireVf(const BindingConfig& config, const vif::PciAddress& address) {
  auto vf = FindVf(config.sysfs, address);
  if (!vf) {
    throw ParseError("$.dev_address",
                     address.ToString() + " is no virtual function on this node (SR-IOV)");
  }
  return *std::move(vf);
}

void SetDown(RouteSocket& host, const std::string& name) {
  const auto link = host.FindLink(name);
  if (link && link->up) host.ChangeLink(*link, {.up = false});
}

/// Repeats a failed step that no later call could ask for.
void Insist(const std::function<void()>& step) {
  try {
    step();
  } catch (const std::system_error&) {
    step();
  }
}

/// The virtual function: the pod has its link, and its physical function sets MAC and VLAN.
class VfPart final : public Part {
 public:
  using Part::Part;

  void Require() override {
    RouteSocket& host = site().host();
    vf_ = RequireVf(site().config(), PciAddressOf(site().plug()));
    const Link pf = FindPf(host, *vf_);
    before_ = host.FindVf(pf, vf_->number);
    mtu_ = site().planned().mtu.On(pf.mtu);
    (void)DifferenceOf(before_, Wanted(), *vf_);
    for (const std::string& name : {site().plug().ifname, NameOnTheWay(vf_->address)})
      RequireFree(site().inside(), name);
    (void)FindIdleLink(host, site().config(), *vf_);
  }
  void Check(Differences& found) override {
    const std::string& device = site().plug().device;
    vf_ = FindVf(site().config().sysfs, PciAddressOf(site().plug()));
    if (!vf_) {
      found.push_back({.kind = DifferenceKind::kDevice,
                       .what = device,
                       .expected = device,
                       .text = device + " is no virtual function on this node any more"});
      return;
    }
    CheckSettings(found);
    is_checked_ = true;
  }
  void Make() override {
    if (!is_checked_) LendVf(site().host(), site().config(), *vf_, before_, site().request());
    SetVf(site().host(), *vf_, Wanted());
  }
  void Remove(const Attachment& owner) override {
    const auto pod = NetnsOf(owner);
    GiveBackVf(site().config(), site().plug(), owner, pod ? &*pod : nullptr);
  }
  void Undo() override {
    GiveBackVf(site().config(), site().plug(), site().attachment(), &site().pod());
  }

  /// After Require or Check; nullopt for a function that is missing.
  [[nodiscard]] const std::optional<Vf>& vf() const noexcept { return vf_; }
  /// The planned MTU, after Require or Check.
  [[nodiscard]] uint32_t mtu() const noexcept { return mtu_; }

 private:
  [[nodiscard]] VfSettings Wanted() const {
    return {.mac = site().planned().mac, .vlan = site().planned().vlan};
  }
  void CheckSettings(Differences& found) {
    RouteSocket& host = site().host();
    const Link pf = FindPf(host, *vf_);
    const auto now = host.FindVf(pf, vf_->number);
    mtu_ = site().planned().mtu.On(pf.mtu);
    const VfSettings difference = DifferenceOf(now, Wanted(), *vf_);
    if (difference.mac)
      TellSetting(DifferenceKind::kMac, "MAC", difference.mac->ToString(), now->mac->ToString(),
                  found);
    if (difference.vlan)
      TellSetting(DifferenceKind::kVlan, "VLAN", std::to_string(*difference.vlan),
                  std::to_string(*now->vlan), found);
  }
  void TellSetting(DifferenceKind kind, const std::string& setting, const std::string& expected,
                   const std::string& present, Differences& found) {
    found.push_back({.kind = kind,
                     .what = vf_->pf,
                     .expected = expected,
                     .found = present,
                     .text = vf_->ToString() + " is set by " + vf_->pf + " to " + setting + " " +
                             present + " instead of " + expected,
                     .live_safe = true});
  }

  std::optional<Vf> vf_;
  bool is_checked_ = false;
  std::optional<VfSettings> before_;
  uint32_t mtu_ = 0;
};

/// The VF's link in the pod, which VfPart has moved there.
class VfLinkPart final : public PodLinkPart {
 public:
  VfLinkPart(PlugSite& site, const VfPart& vf) : PodLinkPart(site, {}), vf_(vf) {}

  /// VfPart requires the names of its link to be free.
  void Require() override {}
  void Make() override {
    RouteSocket& inside = site().inside();
    const Link link = Find(inside, NameOnTheWay(vf_.vf()->address));
    Prepare(link);
    inside.ChangeLink(
        link, {.mac = site().planned().mac, .mtu = vf_.mtu(), .name = ifname(), .up = true});
  }

 private:
  const VfPart& vf_;
};

/// The port of Open vSwitch through which the bridge reaches the VF.
class RepresentorPart final : public PortPart {
 public:
  RepresentorPart(PlugSite& site, const VfPart& vf)
      : PortPart(site, "", Shown::kAsInterface), vf_(vf) {}

  void Require() override {
    port_ = Wanted();
    PortPart::Require();
  }
  void Check(Differences& found) override {
    if (!vf_.vf()) return;
    port_ = Wanted();
    const WantedLink link = {.name = port_->name,
                             .mtu = site().planned().mtu.Checked(),
                             .marked = false,
                             .is_mendable = true};
    CheckLink(site().host(), link, site().attachment(), found);
    PortPart::Check(found);
  }
  /// The representor is set up only when ovs-vswitchd has the port: ovs-vswitchd writes flags,
  /// which it may have read when the link was down.
  [[nodiscard]] std::optional<Interface> Await() override {
    RouteSocket& host = site().host();
    site().session().WaitUntilUp();
    host.ChangeLink(Find(host, port_->name), {.mtu = vf_.mtu(), .up = true});
    return Describe(Find(host, port_->name), false);
  }
  /// The representor stays, down: it is there as long as the VF. It is set down before its port
  /// goes, without which it could not be found again. It is set down once more afterwards, as
  /// ovs-vswitchd may write back the flags it remembers.
  void Remove(const Attachment& owner) override {
    const ExternalIds ids = OwnerIds(owner, site().plug().ifname);
    PortSession& session = site().session();
    RouteSocket& host = site().host();
    TryAll steps;
    for (const std::string& port : session.ovs().FindPortNames(ids, session.deadline())) {
      SetDown(host, port);
      steps.Try([&] { session.ovs().DeletePort(port, ids, session.deadline()); });
      steps.Try([&] { Insist([&] { session.WaitUntilApplied(); }); });
      steps.Try([&] { Insist([&] { SetDown(host, port); }); });
    }
    steps.Finish();
  }

 protected:
  [[nodiscard]] OvsPort Wanted() override {
    if (port_) return *port_;
    OvsPort port = PortPart::Wanted();
    port.name = FindRepresentor(site().config().sysfs, vf_.vf().value(), port.name);
    return port;
  }
  /// The card's switch has named it.
  [[nodiscard]] bool HasOwnDevice() override { return true; }

 private:
  const VfPart& vf_;
  std::optional<OvsPort> port_;
};

class SriovDriver final : public Driver {
 public:
  explicit SriovDriver(DriverContext context) : Driver(std::move(context)) {}

  [[nodiscard]] Plug ChoosePlug(const vif::Vif& vif, const std::string& ifname) const override {
    const Device device = DeviceOf(vif);
    // An error in the VIF is told before one of the node.
    (void)vif::Required(Common(vif).address, "$.address");
    if (const auto* own = std::get_if<vif::VifSriov>(&vif)) (void)VlanOf(*own);
    const Vf vf = RequireVf(context_.config, device.address);
    if (vf.link.empty()) ThrowNotOnHost(vf);
    return {.driver = kSriovDriver,
            .ifname = ifname,
            .host_interface = vf.link,
            .bridge = device.bridge,
            .device = device.address.ToString()};
  }

  [[nodiscard]] Planned PlanWith(const vif::PodVif& vif, const Plug& plug) const override {
    Planned planned = PlanCommon(vif, plug, context_.config);
    if (const auto* own = std::get_if<vif::VifSriov>(&vif.vif)) planned.vlan = VlanOf(*own);
    if (!plug.bridge.empty()) PlanRepresentor(Common(vif.vif), context_.config, planned);
    return planned;
  }

  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& /*deadline*/) const override {
    std::vector<Plug> plugs = FindLentVfs(context_.config, attachment);
    for (Plug& plug : plugs) plug.driver = kSriovDriver;
    return plugs;
  }

 protected:
  [[nodiscard]] Parts PartsOf(PlugSite& site) const override {
    Parts parts;
    const auto& vf = Add<VfPart>(parts, site);
    if (!site.plug().bridge.empty()) Add<RepresentorPart>(parts, site, vf);
    Add<VfLinkPart>(parts, site, vf);
    Add<Layer3Part>(parts, site);
    return parts;
  }
};

}  // namespace

std::unique_ptr<Driver> NewSriovDriver(const DriverContext& context) {
  return std::make_unique<SriovDriver>(context);
}

}  // namespace kuryr::binding
