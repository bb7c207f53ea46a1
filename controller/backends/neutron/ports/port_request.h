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

/// Which subnets an interface of the scope is to be in: what it names, those of the pool that lists
/// the scope, or the pods' own; none: its scope's own network. PlanError kRefused where it may
/// not name it.
[[nodiscard]] std::vector<std::string> SubnetsFor(const InterfaceRequest& interface,
                                                  const std::string& scope,
                                                  const PodDefaults& defaults);

/// The security groups of a pod's interface; empty: the project's group "default". A namespace's
/// annotation names groups that kuryr.conf lists, and a pod's chooses among those of its namespace.
/// PlanError kRefused names the group that may not be had.
[[nodiscard]] std::vector<std::string> GroupsFor(const InterfaceRequest& interface,
                                                 const Scope& scope, const PodDefaults& defaults);
/// The security groups of a node's management port, which may be the pods'.
[[nodiscard]] const std::vector<std::string>& GroupsOfNodes(const PodDefaults& defaults);

/// The port to be made for an interface, without what the VIF driver says. PlanError kRefused
/// names an address that pods do not get, and why.
[[nodiscard]] PortRequest PortRequestOf(const Owner& owner, const InterfaceRequest& interface,
                                        const PodNetwork& network, const PodDefaults& defaults);

/// A port to be made for a pod that is yet to come, likewise.
[[nodiscard]] PortRequest ReadyRequestOf(const PodNetwork& network, const PodDefaults& defaults);

/// Whether Neutron drops the tags of a port that is made.
[[nodiscard]] bool TagsComeLater(NeutronApi& api, const PodDefaults& defaults);

/// Whether `tags` are among the port's.
[[nodiscard]] bool HasTags(const Port& port, const std::vector<std::string>& tags);

/// "SCOPE/NAME/IFNAME", as a port is called; the middle is cut where Neutron's 255 bytes ask for
/// it.
[[nodiscard]] std::string PortNameOf(const Owner& owner, const std::string& ifname);
/// The last part of it; empty where there is none.
[[nodiscard]] std::string IfnameOf(const Port& port);
/// The owner of this id whose port it is, as far as the port says.
[[nodiscard]] Owner OwnerOf(const std::string& id, const Port& port);

}  // namespace kuryr::controller::neutron
