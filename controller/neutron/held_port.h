#pragma once

#include <optional>
#include <string>

#include "vif/pod_vifs.h"

namespace kuryr::controller::neutron {

/// A port that an owner has.
struct HeldPort {
  std::string id;
  std::string ifname;
  bool is_default = false;
  bool known = false;    ///< Neutron has said that it is this owner's
  bool written = false;  ///< its VIF stands on an object
  bool active = false;   ///< its status has been ACTIVE
  /// Nothing of a port that is not bound yet, and of one that is written and active.
  std::optional<vif::Vif> vif;
};

}  // namespace kuryr::controller::neutron
