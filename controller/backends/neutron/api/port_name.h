#pragma once

#include <string>

#include "controller/backends/neutron/api/port.h"

namespace kuryr::controller::neutron {

/// The parts of a port's name "SCOPE/NAME/IFNAME", as pods' ports have it. kuryr-kubernetes' ports
/// have "SCOPE/NAME", and others a text of their own: all parts are empty then.
struct PortName {
  std::string scope;
  std::string name;
  std::string ifname;
};

[[nodiscard]] PortName PartsOfName(const Port& port);

}  // namespace kuryr::controller::neutron
