#include "binding/node/provided_bridge.h"

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "binding/links/host_link.h"
#include "binding/links/interfaces.h"
#include "binding/links/link_mark.h"
#include "binding/node/parent_link.h"
#include "binding/plan/allowed.h"
#include "binding/plan/attachment.h"
#include "binding/plan/vif_fields.h"

namespace kuryr::binding {
namespace {

/// vif_plug_linux_bridge: with multi_host the bridges are another service's.
bool ProvidesBridge(const vif::VifBridge& vif) {
  if (!vif.network.has_value()) return false;
  return vif.network->should_provide_bridge.value_or(false) &&
         !vif.network->multi_host.value_or(false);
}

/// The node's uplink is not moved onto a bridge because an annotation says so.
void RequireNoUplink(const BridgeProvision& provision) {
  if (provision.uplink.empty()) return;
  throw UnsupportedVif(
      "VIFBridge whose bridge is missing and has $.network.bridge_interface set (\"" +
      Printable(provision.uplink) + "\"): make the bridge beforehand");
}

/// VLANs are made on a link that the operator has named.
void RequireNamedUplink(const std::string& uplink, const BindingConfig& config) {
  const auto& named = config.named.uplinks;
  if (!config.link_iface.empty()) return;
  if (std::find(named.begin(), named.end(), uplink) != named.end()) return;
  throw UnsupportedVif("VIFBridge with a VLAN on $.network.bridge_interface \"" +
                       Printable(uplink) +
                       "\": [binding] link_iface of this node is not set, and " +
                       "\"link_iface = " + Printable(uplink) + "\" allows it");
}

/// The annotation must name the node's parent link: it does not choose the link that pods stand on.
Link FindVlanParent(RouteSocket& host, const std::string& uplink, const BindingConfig& config) {
  RequireNamedUplink(uplink, config);
  Link parent = FindParentLink(host, config.link_iface);
  if (parent.name != uplink) {
    throw UnsupportedVif("VIFBridge with a VLAN on $.network.bridge_interface \"" +
                         Printable(uplink) + "\": pods may stand on " + parent.name +
                         " ([binding] link_iface)");
  }
  return parent;
}

}  // namespace

BridgeProvision PlanProvision(const vif::VifBridge& vif) {
  BridgeProvision provision;
  if (!ProvidesBridge(vif)) return provision;
  const vif::Network& network = *vif.network;
  provision.is_provided = true;
  if (network.should_provide_vlan.value_or(false)) {
    provision.vlan = vif::Required(network.vlan, "$.network.vlan");
    provision.uplink = LinkNameOf(network.bridge_interface, "$.network.bridge_interface");
  } else {
    provision.uplink = network.bridge_interface.value_or("");
  }
  return provision;
}

ProvidedBridge::ProvidedBridge(RouteSocket& host, const Planned& planned,
                               const BindingConfig& config)
    : host_(host),
      provision_(planned.provision),
      name_(planned.plug.bridge),
      link_(host.FindLink(name_)) {
  if (link_ && link_->kind != "bridge")
    ThrowErrno(EINVAL, "use " + name_ + " as bridge: its kind is \"" + link_->kind + "\"");
  if (link_ && LinkMark::Parse(link_->alias))
    throw HostInterfaceInUse("bridge " + name_ + " is a single port's own");
  if (!link_ && !provision_.is_provided) ThrowErrno(ENODEV, "find bridge " + name_);
  if (provision_.vlan) {
    parent_ = FindVlanParent(host, provision_.uplink, config);
  } else if (!link_) {
    RequireNoUplink(provision_);
  }
  if (!link_) RequireNamedBridge(config, name_, BridgeKind::kKernel);
}

void ProvidedBridge::Provide() {
  if (!link_) {
    made_bridge_ = true;  // its answer may be lost
    made_bridge_ = host_.CreateBridgeDown(name_, std::nullopt, kSharedBirthGroup);
    link_ = Find(host_, name_);
  }
  if (provision_.is_provided && IsEmptyAndDown()) {
    RequireOwn();
    Silence(name_);
    host_.SetUp(*link_);
  }
  if (parent_) ProvideVlan();
}

/// Whether the bridge's maker is not done with it, or was killed. The next Provide finishes such a
/// bridge; an operator's own is left unfinished.
bool ProvidedBridge::IsEmptyAndDown() { return !link_->up && host_.AddressesOf(*link_).empty(); }

/// An operator's bridge that is down stays down, whatever an annotation says.
void ProvidedBridge::RequireOwn() {
  if (link_->group == kSharedBirthGroup) return;
  ThrowErrno(ENETDOWN, "use bridge " + name_ + ", which was not made by kuryr-cni and is down: " +
                           "\"ip link set " + name_ + " up\" allows it");
}

void ProvidedBridge::ProvideVlan() {
  const std::string name = VlanName();
  const uint16_t id = *provision_.vlan;
  if (!made_bridge_) RequireNoStranger();
  auto vlan = host_.FindLink(name);
  if (!vlan) {
    made_vlan_ = true;
    const StackedLink wanted = {.name = name, .parent = *parent_, .group = kSharedBirthGroup};
    made_vlan_ = host_.CreateVlan(wanted, id);
    if (made_vlan_) DisableIpv6(name);
    vlan = host_.FindLink(name);
    if (!vlan) {
      ThrowErrno(EEXIST, "VLAN " + std::to_string(id) + " on " + parent_->name +
                             " is another interface's than " + name);
    }
  }
  if (vlan->vlan_id != id || vlan->lower != parent_->index || vlan->lower_is_elsewhere)
    ThrowErrno(EEXIST, name + " is not VLAN " + std::to_string(id) + " on " + parent_->name);
  if (vlan->master != 0 && vlan->master != link_->index)
    ThrowErrno(EBUSY, name + " is a port of another bridge than " + name_);
  if (vlan->master == 0 && vlan->group != kSharedBirthGroup) {
    ThrowErrno(EBUSY, name + " was not made by kuryr-cni: \"ip link set " + name + " master " +
                          name_ + "\" allows it");
  }
  if (vlan->master == 0 || !vlan->up) host_.SetMasterAndUp(*vlan, link_->index);
}

std::string ProvidedBridge::VlanName() const { return "vlan" + std::to_string(*provision_.vlan); }

/// A bridge in use is not joined with a VLAN because an annotation says so. A provided bridge gets
/// its VLAN before its first other port.
void ProvidedBridge::RequireNoStranger() {
  if (!HasPortsBeside(*link_, VlanName()) && !HasGlobalAddress(host_, *link_)) return;
  const auto vlan = host_.FindLink(VlanName());
  if (vlan && vlan->master == link_->index) return;
  throw UnsupportedVif("VIFBridge with $.network.should_provide_vlan: bridge " + name_ +
                       " is in use without " + VlanName() + "; make the VLAN its port beforehand");
}

bool ProvidedBridge::HasPortsBeside(const Link& bridge, const std::string& name) {
  for (const std::string& other : LinkNamesIn(Netns::Current())) {
    const auto link = host_.FindLink(other);
    if (link && link->master == bridge.index && other != name) return true;
  }
  return false;
}

void ProvidedBridge::Remove() {
  if (!made_bridge_ && !made_vlan_) return;
  const auto bridge = host_.FindLink(name_);
  if (!bridge || bridge->kind != "bridge") return;
  if (HasPortsBeside(*bridge, made_vlan_ ? VlanName() : "")) return;
  if (made_vlan_) host_.DeleteLink(VlanName());
  if (made_bridge_) host_.DeleteLink(name_);
}

}  // namespace kuryr::binding
