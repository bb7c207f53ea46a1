#pragma once

#include <optional>
#include <string>

#include "controller/backends/neutron/held/seen_port.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller::neutron {

/// A port that an owner has.
struct HeldPort {
  std::string id;
  std::string ifname;
  bool is_default = false;
  bool known = false;    ///< Neutron names this owner as the port's
  bool written = false;  ///< its VIF stands on an object
  bool told = false;     ///< only an object says that it is the owner's: a user may have written it
  bool active = false;   ///< its status has been ACTIVE
  bool doubted = false;  ///< a list of Neutron's lacks it
  bool gone = false;     ///< Neutron has none of this id (404)
  std::optional<SeenPort> seen;  ///< nullopt: Neutron has not told of it yet
  /// Empty until the port is bound, and again once its VIF is written and active.
  std::optional<vif::Vif> vif;
};

}  // namespace kuryr::controller::neutron
