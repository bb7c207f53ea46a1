#pragma once

#include <string>

#include "controller/backends/backend.h"
#include "controller/backends/neutron/api/port.h"

namespace kuryr::controller::neutron {

/// A pod's port has the name "SCOPE/NAME/IFNAME". The middle is cut if the name exceeds Neutron's
/// 255 bytes. kuryr-kubernetes' ports have "SCOPE/NAME"; other names are somebody's own.
[[nodiscard]] std::string PortNameOf(const Owner& owner, const std::string& ifname);
/// False: the middle of the port's name may be cut.
[[nodiscard]] bool HasWholeName(const Port& port);
/// The interface that the port's name says; empty: it says none.
[[nodiscard]] std::string IfnameOf(const Port& port);
/// The port's owner, with this id, as far as the port names it.
[[nodiscard]] Owner OwnerOf(const std::string& id, const Port& port);

}  // namespace kuryr::controller::neutron
