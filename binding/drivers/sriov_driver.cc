#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/rollback.h"
#include "binding/devices/lent_vf.h"
#include "binding/devices/vf.h"
#include "binding/drivers/drivers.h"
#include "binding/interfaces.h"
#include "binding/l3.h"
#include "binding/neutron_port.h"
#include "binding/parts/check.h"
#include "binding/parts/port_session.h"
#include "binding/try_all.h"
#include "binding/vif_fields.h"

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

/// What the port profile says of the representor. Producers write a name that the interface has
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

/// What the port profile calls it, as a hint.
std::string RepresentorHint(const vif::VifBase& vif, const vif::PciAddress& device) {
  const RepresentorFields fields(vif);
  if (!fields.address.empty() && vif::PciAddress::Parse(fields.address) != device) {
    throw ParseError("$.port_profile", "has the representor of " + Printable(fields.address) +
                                           ", but $.dev_address is " + device.ToString());
  }
  return fields.name;
}

/// As the driver ovs adds and removes one: with the record lost, the port is that driver's to find.
/// The name is the hint until the card's switch has said it.
void PlanRepresentor(const vif::VifBase& vif, const BindingConfig& config, Planned& planned) {
  const std::string hint = RepresentorHint(vif, PciAddressOf(planned.plug));
  const Plug port = {.driver = kOvsDriver,
                     .ifname = planned.plug.ifname,
                     .host_interface = hint,
                     .bridge = planned.plug.bridge};
  PlanPort(vif, port, hint, config, planned);
}

OvsPort RepresentorPort(const PlugRequest& request, const BindingConfig& config, const Vf& vf) {
  OvsPort port = OwnedPort(request.planned, request.attachment);
  port.name = FindRepresentor(config.sysfs, vf, port.name);
  return port;
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

/// What no later call could ask for is repeated when it fails.
void Insist(const std::function<void()>& step) {
  try {
    step();
  } catch (const std::system_error&) {
    step();
  }
}

/// The representor stays, down: it is there as long as the VF. It is set down before its port goes,
/// without which it could not be found again. It is set down once more afterwards, as ovs-vswitchd
/// may write back the flags it remembers.
void RemovePort(PortSession& session, const Plug& plug, const Attachment& attachment) {
  const ExternalIds ids = OwnerIds(attachment, plug.ifname);
  RouteSocket host;
  TryAll steps;
  for (const std::string& port : session.ovs().FindPortNames(ids, session.deadline())) {
    SetDown(host, port);
    steps.Try([&] { session.ovs().DeletePort(port, ids, session.deadline()); });
    steps.Try([&] { Insist([&] { session.WaitUntilApplied(); }); });
    steps.Try([&] { Insist([&] { SetDown(host, port); }); });
  }
  steps.Finish();
}

/// One Connect: what it needs at hand, and what it may have to undo.
class Lending {
 public:
  Lending(const DriverContext& context, const PlugRequest& request)
      : context_(context),
        config_(context.config),
        request_(request),
        plug_(request.planned.plug),
        inside_(RouteSocket::OpenIn(request.pod)),
        session_(PortSession::Patient(context, request.deadline)) {}

  std::vector<Interface> Make() {
    const auto& [planned, attachment, pod, deadline] = request_;
    const Vf vf = RequireVf(config_, PciAddressOf(plug_));
    const Link pf = FindPf(host_, vf);
    const VfSettings settings{.mac = planned.mac, .vlan = planned.vlan};
    const auto before = host_.FindVf(pf, vf.number);
    (void)DifferenceOf(before, settings, vf);
    for (const std::string& name : {plug_.ifname, NameOnTheWay(vf.address)})
      RequireFree(inside_, name);
    (void)FindIdleLink(host_, config_, vf);
    const uint32_t mtu = planned.mtu.On(pf.mtu);
    if (planned.port) Prepare(vf);

    Rollback undo([this] { Undo(); });
    LendVf(host_, config_, vf, before, request_);
    SetVf(host_, vf, settings);
    const Link moved = Find(inside_, NameOnTheWay(vf.address));
    inside_.ChangeLink(moved, {.mac = planned.mac, .mtu = mtu, .name = plug_.ifname, .up = true});
    if (port_) {
      session_.Add(*port_, planned.datapath_type);
      session_.JoinMirrors();
    }
    ConfigureL3(pod, plug_.ifname, planned.l3, L3Scope::kPod);
    std::vector<Interface> interfaces;
    if (port_) interfaces.push_back(SetRepresentorUp(mtu));
    interfaces.push_back(Describe(Find(inside_, plug_.ifname), true));
    undo.Dismiss();
    return interfaces;
  }

 private:
  /// Whatever may be wrong with Open vSwitch is found out before the VF goes.
  void Prepare(const Vf& vf) {
    port_ = RepresentorPort(request_, config_, vf);
    session_.Connect();
  }

  /// Not before ovs-vswitchd has it: that writes flags, which it may have read when it was down.
  Interface SetRepresentorUp(uint32_t mtu) {
    session_.WaitUntilUp();
    host_.ChangeLink(Find(host_, port_->name), {.mtu = mtu, .up = true});
    return Describe(Find(host_, port_->name), false);
  }

  void Undo() noexcept {
    const Attachment& attachment = request_.attachment;
    TryUndo(plug_.ifname, [&] { GiveBackVf(config_, plug_, attachment, &request_.pod); });
    if (!port_) return;
    session_.Undo(plug_.ifname, [&](const Deadline& deadline) {
      PortSession session = PortSession::AtOnce(context_, deadline);
      RemovePort(session, plug_, attachment);
    });
  }

  const DriverContext& context_;
  const BindingConfig& config_;
  const PlugRequest& request_;
  const Plug& plug_;
  RouteSocket host_;
  RouteSocket inside_;
  PortSession session_;
  std::optional<OvsPort> port_;
};

std::optional<std::string> CheckVf(RouteSocket& host, const Vf& vf, const VfSettings& wanted) {
  const auto now = host.FindVf(FindPf(host, vf), vf.number);
  const VfSettings difference = DifferenceOf(now, wanted, vf);
  const std::string what = vf.ToString() + " is set by " + vf.pf + " to ";
  if (difference.mac)
    return what + "MAC " + now->mac->ToString() + " instead of " + wanted.mac->ToString();
  if (difference.vlan) {
    return what + "VLAN " + std::to_string(*now->vlan) + " instead of " +
           std::to_string(*wanted.vlan);
  }
  return std::nullopt;
}

class SriovDriver final : public Driver {
 public:
  explicit SriovDriver(DriverContext context) : context_(std::move(context)) {}

  [[nodiscard]] Plug ChoosePlug(const vif::Vif& vif, const std::string& ifname) const override {
    const Device device = DeviceOf(vif);
    // What the VIF lacks is told before what the node lacks.
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

  std::vector<Interface> Connect(const PlugRequest& request) override {
    return Lending(context_, request).Make();
  }

  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override {
    const auto& [planned, attachment, pod, deadline] = request;
    const Plug& plug = planned.plug;
    const auto vf = FindVf(context_.config.sysfs, PciAddressOf(plug));
    if (!vf) return plug.device + " is no virtual function on this node any more";
    RouteSocket host;
    if (auto difference = CheckVf(host, *vf, {.mac = planned.mac, .vlan = planned.vlan}))
      return difference;
    if (planned.port) {
      const OvsPort port = RepresentorPort(request, context_.config, *vf);
      const WantedLink host_end = {
          .name = port.name, .mtu = planned.mtu.Checked(), .marked = false};
      if (auto difference = CheckLink(host, host_end, attachment)) return difference;
      if (auto difference = PortSession::AtOnce(context_, deadline).Check(port)) return difference;
    }
    return CheckPodLink(request, {});
  }

  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& deadline) override {
    TryAll steps;
    steps.Try([&] {
      const auto pod = NetnsOf(attachment);
      GiveBackVf(context_.config, plug, attachment, pod ? &*pod : nullptr);
    });
    steps.Try([&] {
      PortSession session = PortSession::AtOnce(context_, deadline);
      if (!plug.bridge.empty()) RemovePort(session, plug, attachment);
    });
    steps.Finish();
  }

  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& /*deadline*/) const override {
    std::vector<Plug> plugs = FindLentVfs(context_.config, attachment);
    for (Plug& plug : plugs) plug.driver = kSriovDriver;
    return plugs;
  }

 private:
  DriverContext context_;
};

}  // namespace

std::unique_ptr<Driver> NewSriovDriver(const DriverContext& context) {
  return std::make_unique<SriovDriver>(context);
}

}  // namespace kuryr::binding
