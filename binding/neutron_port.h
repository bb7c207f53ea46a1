#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "binding/config.h"
#include "binding/driver.h"
#include "binding/ovs/open_vswitch.h"

namespace kuryr::binding {

/// The Open vSwitch port of a VIF, as Neutron's agents and OVN look for it (external_ids:iface-id)
/// and as we find it again. What the drivers share that make one.

/// The port's UUID in Neutron: the profile's interface_id or else the VIF's id. Throws ParseError
/// where neither is set, UnsupportedVif for profiles that are not for Open vSwitch.
[[nodiscard]] std::string NeutronPortOf(const vif::VifBase& vif);
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

/// Adds it; throws HostInterfaceInUse when the name is another's port, UnsupportedVif when its
/// bridge is missing and not to be made as `vif` wants it.
[[nodiscard]] AddedPort AddPort(OpenVSwitch& ovs, const OvsPort& port, const vif::VifBase& vif,
                                const BindingConfig& config, const Deadline& deadline);
/// The first difference of the port from `wanted`, which has to be up; nullopt when there is none.
/// Its VLANs and QoS are compared where they are ours (BindingConfig::owns_ports).
[[nodiscard]] std::optional<std::string> CheckPort(const std::optional<PortState>& state,
                                                   const OvsPort& wanted,
                                                   const BindingConfig& config);

}  // namespace kuryr::binding
