#pragma once

#include <string>

#include "binding/config.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {

/// The Open vSwitch port of a VIF, as Neutron's agents and OVN look for it (external_ids:iface-id)
/// and as we find it again. What the drivers share that make one.

/// The port's UUID in Neutron: the profile's interface_id or else the VIF's id. Throws ParseError
/// where neither is set, UnsupportedVif for profiles that are not for Open vSwitch.
[[nodiscard]] std::string NeutronPortOf(const vif::VifBase& vif);
/// Throws UnsupportedVif where the port profile has the VIF behind a representor.
void RequireNoRepresentor(const vif::Vif& vif);
/// The external_ids of all ports of the attachment.
[[nodiscard]] ExternalIds OwnerIds(const Attachment& attachment);
/// The external_ids of the attachment's port whose interface in the pod is this one.
[[nodiscard]] ExternalIds OwnerIds(const Attachment& attachment, const std::string& pod_ifname);
/// Adds the port to what is planned: a network device `name` on the plug's bridge, isolation and
/// QoS as the config says. From its external_ids PlugOf restores `plug`. Throws what NeutronPortOf
/// throws.
void PlanPort(const vif::VifBase& vif, const Plug& plug, const std::string& name,
              const BindingConfig& config, Planned& planned);
/// Has the planned port send from the VIF's own addresses only, where the VIF stands alone on its
/// link: its gateways are its only neighbours, so it is a pod of a pool, whose gateway is its node.
/// VIFs of Neutron and OVN never do. A plan may say vif::kNoPortSecurity if plans are trusted.
void PlanPortSecurity(const vif::VifBase& vif, const BindingConfig& config, Planned& planned);
/// The planned port as this attachment's.
[[nodiscard]] OvsPort OwnedPort(const Planned& planned, const Attachment& attachment);
/// The attachment that a port names: OwnerIds and the pod's UID.
[[nodiscard]] Attachment AttachmentOf(const OvsPort& port);
/// The plug that PlanPort was given, from the port's external_ids.
[[nodiscard]] Plug PlugOf(const OvsPort& port);

}  // namespace kuryr::binding
