#pragma once

#include <string>

#include "binding/config.h"
#include "binding/driver.h"
#include "binding/ovs/open_vswitch.h"

namespace kuryr::binding {

/// The Open vSwitch port of a VIF, as Neutron's agents and OVN look for it (external_ids:iface-id)
/// and as we find it again. What the drivers share that make one.

/// The port's UUID in Neutron: the profile's interface_id or else the VIF's id. Throws ParseError
/// where neither is set, UnsupportedVif for profiles that are not for Open vSwitch.
[[nodiscard]] std::string NeutronPortOf(const vif::VifBase& vif);
/// Throws UnsupportedVif where the port profile has the VIF behind a representor.
void RequireNoRepresentor(const vif::Vif& vif);
/// The datapath_type that the port profile wants a missing bridge to have; empty: any.
[[nodiscard]] std::string DatapathTypeOf(const vif::VifBase& vif);
/// Which ports are the attachment's.
[[nodiscard]] ExternalIds OwnerIds(const Attachment& attachment);
/// Which are, and of the plug with this interface in the pod.
[[nodiscard]] ExternalIds OwnerIds(const Attachment& attachment, const std::string& pod_ifname);
/// A network device as port `name` of the plug's bridge; isolation and QoS as the config says.
[[nodiscard]] OvsPort PortFor(const vif::VifBase& vif, const Plug& plug, const std::string& name,
                              const Attachment& attachment, const BindingConfig& config);
/// The attachment that PortFor was given, as far as OwnerIds tell, and the pod's UID.
[[nodiscard]] Attachment AttachmentOf(const OvsPort& port);
/// The plug that PortFor was given, from the port's external_ids.
[[nodiscard]] Plug PlugOf(const OvsPort& port);

}  // namespace kuryr::binding
