#include "binding/drivers/sriov_driver.h"

#include <cerrno>
#include <charconv>
#include <functional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/rollback.h"
#include "binding/check.h"
#include "binding/drivers/ovs_driver.h"
#include "binding/interfaces.h"
#include "binding/l3.h"
#include "binding/lent_vf.h"
#include "binding/neutron_port.h"
#include "binding/steps.h"
#include "binding/vf.h"
#include "binding/vif_fields.h"

namespace kuryr::binding {
namespace {

constexpr uint16_t kMaxVlan = 4094;

/// What the VIF asks for, beyond what every VIF has.
struct Wanted {
  vif::PciAddress address;
  uint16_t vlan = 0;   ///< that the PF adds and takes away; 0: none
  std::string bridge;  ///< the representor's; empty: none
};

[[noreturn]] void RefusePlugin(const vif::Vif& vif) {
  throw UnsupportedVif(std::string(ClassName(vif)) + " with plugin \"" +
                       Printable(Common(vif).plugin.value_or("")) + "\"");
}

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

Wanted WantedOf(const vif::Vif& vif) {
  const std::string plugin = Common(vif).plugin.value_or("");
  if (const auto* own = std::get_if<vif::VifSriov>(&vif)) {
    if (plugin != "sriov") RefusePlugin(vif);
    return {.address = vif::Required(own->dev_address, "$.dev_address"), .vlan = VlanOf(*own)};
  }
  const auto* own = std::get_if<vif::VifHostDevice>(&vif);
  if (own == nullptr)
    throw UnsupportedVif(std::string(ClassName(vif)) + " is not for driver sriov");
  if (plugin != "ovs") RefusePlugin(vif);
  if (own->dev_type.has_value() && *own->dev_type != vif::HostDeviceType::kEthernet)
    throw UnsupportedVif("VIFHostDevice that is no Ethernet device ($.dev_type)");
  (void)NeutronPortOf(*own);
  const vif::Network& network = vif::Required(own->network, "$.network");
  return {.address = vif::Required(own->dev_address, "$.dev_address"),
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

std::string RepresentorOf(const BindingConfig& config, const vif::VifBase& vif, const Vf& vf) {
  const RepresentorFields fields(vif);
  if (!fields.address.empty() && vif::PciAddress::Parse(fields.address) != vf.address) {
    throw ParseError("$.port_profile", "has the representor of " + Printable(fields.address) +
                                           ", but $.dev_address is " + vf.address.ToString());
  }
  return FindRepresentor(config.sysfs, vf, fields.name);
}

/// As OvsDriver makes and unmakes one: with the record lost, the port is that driver's to find.
OvsPort RepresentorPort(const vif::VifBase& vif, const Plug& plug, const std::string& representor,
                        const Attachment& attachment, const BindingConfig& config) {
  const Plug port = {.driver = OvsDriver::kName,
                     .ifname = plug.ifname,
                     .host_interface = representor,
                     .bridge = plug.bridge};
  return PortFor(vif, port, representor, attachment, config);
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

/// The representor stays, down: it is there as long as the VF. Without its port it is not found
/// again, so it is set down before that goes; and after, for ovs-vswitchd may write back the flags
/// it remembers.
void RemovePort(const BindingConfig& config, Shared& shared, const Plug& plug,
                const Attachment& attachment, const Deadline& deadline) {
  if (plug.bridge.empty()) return;
  const ExternalIds ids = OwnerIds(attachment, plug.ifname);
  OpenVSwitch ovs(config.ovsdb_connection, &shared.ovsdb);
  RouteSocket host;
  Steps steps;
  for (const std::string& port : ovs.FindPortNames(ids, deadline)) {
    SetDown(host, port);
    steps.Try([&] { ovs.DeletePort(port, ids, deadline); });
    steps.Try([&] { Insist([&] { ovs.WaitUntilApplied(deadline.AtMost(kRollbackTime)); }); });
    steps.Try([&] { Insist([&] { SetDown(host, port); }); });
  }
  steps.Finish();
}

void GiveBack(const BindingConfig& config, const Plug& plug, const Attachment& attachment,
              const Netns* pod) {
  const auto address = vif::PciAddress::Parse(plug.device);
  if (address) GiveBackVf(config.sysfs, *address, attachment, pod);
}

/// One Connect: what it needs at hand, and what it may have to undo.
class Lending {
 public:
  Lending(const BindingConfig& config, Shared& shared, const PlugRequest& request)
      : config_(config),
        shared_(shared),
        plug_(request.plug),
        attachment_(request.attachment),
        pod_(request.pod),
        is_default_(request.is_default),
        deadline_(request.deadline.AtMost(config.ovs_timeout)),
        inside_(RouteSocket::OpenIn(request.pod)),
        ovs_(config.ovsdb_connection, &shared.ovsdb, config.ovsdb_wait) {}

  std::vector<Interface> Make(const vif::VifBase& vif, const Wanted& wanted) {
    const Vf vf = RequireVf(config_, wanted.address);
    const Link pf = FindPf(host_, vf);
    const VfSettings settings{.mac = *vif.address, .vlan = wanted.vlan};
    const auto before = host_.FindVf(pf, vf.number);
    (void)DifferenceOf(before, settings, vf);
    for (const std::string& name : {plug_.ifname, NameOnTheWay(vf.address)})
      RequireFree(inside_, name);
    const Link link = FindIdleLink(host_, config_.sysfs, vf);
    const uint32_t mtu = MtuFor(vif, config_.network_device_mtu, pf.mtu);
    if (!plug_.bridge.empty()) Prepare(vif, vf);

    Rollback undo([this] { Undo(); });
    LendVf(host_, vf, link,
           {.address = vf.address,
            .link = link.name,
            .mac = link.mac,
            .mtu = link.mtu,
            .settings = before},
           attachment_, pod_);
    SetVf(host_, vf, settings);
    const Link moved = Find(inside_, NameOnTheWay(vf.address));
    inside_.ChangeLink(moved, {.mac = *vif.address, .mtu = mtu, .name = plug_.ifname, .up = true});
    if (port_) added_ = AddPort(ovs_, *port_, vif, config_, deadline_);
    ConfigureL3(pod_, plug_.ifname, vif, is_default_);
    std::vector<Interface> interfaces;
    if (port_) interfaces.push_back(SetRepresentorUp(mtu));
    interfaces.push_back(Describe(Find(inside_, plug_.ifname), true));
    undo.Dismiss();
    return interfaces;
  }

 private:
  /// Whatever may be wrong with Open vSwitch is found out before the VF goes.
  void Prepare(const vif::VifBase& vif, const Vf& vf) {
    const std::string representor = RepresentorOf(config_, vif, vf);
    port_ = RepresentorPort(vif, plug_, representor, attachment_, config_);
    ovs_.Connect(deadline_);
  }

  /// Not before ovs-vswitchd has it: that writes flags, which it may have read when it was down.
  Interface SetRepresentorUp(uint32_t mtu) {
    ovs_.WaitUntilUp(*port_, added_, deadline_);
    host_.ChangeLink(Find(host_, port_->name), {.mtu = mtu, .up = true});
    return Describe(Find(host_, port_->name), false);
  }

  void Undo() noexcept {
    const Deadline deadline = Deadline::After(kRollbackTime);
    TryUndo(plug_.ifname, [&] { GiveBack(config_, plug_, attachment_, &pod_); });
    TryUndo(plug_.ifname, [&] { RemovePort(config_, shared_, plug_, attachment_, deadline); });
    TryUndo(plug_.ifname, [&] {
      if (added_.created_bridge) ovs_.DeleteEmptyBridge(*added_.created_bridge, deadline);
    });
  }

  const BindingConfig& config_;
  Shared& shared_;
  const Plug& plug_;
  const Attachment& attachment_;
  const Netns& pod_;
  const bool is_default_;
  const Deadline deadline_;
  RouteSocket host_;
  RouteSocket inside_;
  OpenVSwitch ovs_;
  std::optional<OvsPort> port_;
  AddedPort added_;
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

}  // namespace

SriovDriver::SriovDriver(BindingConfig config, Shared& shared)
    : config_(std::move(config)), shared_(shared) {}

Plug SriovDriver::Plan(const vif::Vif& vif, const std::string& ifname) const {
  const Wanted wanted = WantedOf(vif);
  (void)vif::Required(Common(vif).address, "$.address");
  const Vf vf = RequireVf(config_, wanted.address);
  if (vf.link.empty()) ThrowNotOnHost(vf);
  return {.driver = kName,
          .ifname = ifname,
          .host_interface = vf.link,
          .bridge = wanted.bridge,
          .device = wanted.address.ToString()};
}

std::vector<Interface> SriovDriver::Connect(const PlugRequest& request) {
  return Lending(config_, shared_, request).Make(Common(request.vif), WantedOf(request.vif));
}

std::optional<std::string> SriovDriver::Check(const PlugRequest& request) const {
  const auto& [vif, plug, attachment, pod, is_default, deadline] = request;
  const vif::VifBase& own = Common(vif);
  const Wanted wanted = WantedOf(vif);
  const auto vf = FindVf(config_.sysfs, wanted.address);
  if (!vf) return wanted.address.ToString() + " is no virtual function on this node any more";
  RouteSocket host;
  if (auto difference = CheckVf(host, *vf, {.mac = *own.address, .vlan = wanted.vlan}))
    return difference;
  const uint32_t mtu = CheckedMtu(own, config_.network_device_mtu);
  if (!plug.bridge.empty()) {
    const std::string representor = RepresentorOf(config_, own, *vf);
    const WantedLink host_end = {.name = representor, .mtu = mtu, .marked = false};
    if (auto difference = CheckLink(host, host_end, attachment)) return difference;
    OpenVSwitch ovs(config_.ovsdb_connection, &shared_.ovsdb);
    const OvsPort port = RepresentorPort(own, plug, representor, attachment, config_);
    const auto state = ovs.FindPortState(port.name, deadline.AtMost(config_.ovs_timeout));
    if (auto difference = CheckPort(state, port, config_)) return difference;
  }
  return CheckPodLink(pod, {.name = plug.ifname, .mac = *own.address, .mtu = mtu}, attachment, own,
                      is_default);
}

void SriovDriver::Disconnect(const Plug& plug, const Attachment& attachment,
                             const Deadline& deadline) {
  Steps steps;
  steps.Try([&] {
    const auto pod = NetnsOf(attachment);
    GiveBack(config_, plug, attachment, pod ? &*pod : nullptr);
  });
  steps.Try([&] {
    RemovePort(config_, shared_, plug, attachment, deadline.AtMost(config_.ovs_timeout));
  });
  steps.Finish();
}

std::vector<Plug> SriovDriver::FindPlugs(const Attachment& attachment,
                                         const Deadline& /*deadline*/) const {
  std::vector<Plug> plugs;
  for (const auto& [link, lent] : FindLentVfs(config_.sysfs, attachment)) {
    plugs.push_back({.driver = kName,
                     .ifname = link.name,
                     .host_interface = lent.link,
                     .device = lent.address.ToString()});
  }
  return plugs;
}

}  // namespace kuryr::binding
