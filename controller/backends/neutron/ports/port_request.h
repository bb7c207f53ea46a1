#pragma once

#include <string>
#include <vector>

#include "controller/backends/backend.h"
#include "controller/backends/neutron/api/neutron_api.h"
#include "controller/backends/neutron/api/port.h"
#include "controller/backends/neutron/networks/networks.h"
#include "controller/backends/neutron/settings/pod_defaults.h"

namespace kuryr::controller::neutron {

/// As Kuryr's ports, and Nova's own.
inline constexpr const char* kDeviceOwner = "compute:kuryr";
/// The names of ports that wait for a pod: the one that Kuryr's pools use with port_debug, and the
/// one of its first releases.
inline constexpr const char* kReadyName = "kuryr-pool-port";
inline constexpr const char* kFormerReadyName = "available-port";

/// The subnets of an interface: those that it names, those of the pool that lists the scope, or the
/// pods' default. Empty: the scope's own network. PlanError kRefused if it may not name them.
[[nodiscard]] std::vector<std::string> SubnetsFor(const InterfaceRequest& interface,
                                                  const std::string& scope,
                                                  const PodDefaults& defaults);

/// The security groups of a pod's interface; empty: the project's group "default". A namespace's
/// annotation names groups that kuryr.conf lists, and a pod's chooses among those of its namespace.
/// PlanError kRefused names the group that may not be had.
[[nodiscard]] std::vector<std::string> GroupsFor(const InterfaceRequest& interface,
                                                 const Scope& scope, const PodDefaults& defaults);
/// The security groups of a node's management port: its own, or else the pods'.
[[nodiscard]] const std::vector<std::string>& GroupsOfNodes(const PodDefaults& defaults);

/// The port to be made for an interface, without what the VIF driver says. PlanError kRefused
/// names an address that pods do not get, and why.
[[nodiscard]] PortRequest PortRequestOf(const Owner& owner, const InterfaceRequest& interface,
                                        const PodNetwork& network, const PodDefaults& defaults);

/// The port to be made ready for a later pod.
[[nodiscard]] PortRequest ReadyRequestOf(const PodNetwork& network, const PodDefaults& defaults);

/// Whether Neutron drops the tags of a port that is made.
[[nodiscard]] bool TagsComeLater(NeutronApi& api, const PodDefaults& defaults);

/// Whether `tags` are among the port's.
[[nodiscard]] bool HasTags(const Port& port, const std::vector<std::string>& tags);

/// A port's name: "SCOPE/NAME/IFNAME". The middle is cut if the name exceeds Neutron's 255 bytes.
[[nodiscard]] std::string PortNameOf(const Owner& owner, const std::string& ifname);
/// False: the middle of the port's name may be cut.
[[nodiscard]] bool HasWholeName(const Port& port);
/// The port's owner, with this id, as far as the port names it.
[[nodiscard]] Owner OwnerOf(const std::string& id, const Port& port);

}  // namespace kuryr::controller::neutron
