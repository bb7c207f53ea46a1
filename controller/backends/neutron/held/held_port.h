#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

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
  std::optional<std::vector<std::string>> groups;  ///< security groups, sorted; nullopt: not known
  std::chrono::steady_clock::time_point grouped_at;  ///< when `groups` was read
  /// Empty until the port is bound, and again once its VIF is written and active.
  std::optional<vif::Vif> vif;

  /// Whether it is the port of interface eth0, which has the pod's policies. A pod's user may give
  /// the default route to another interface.
  [[nodiscard]] bool is_policed() const { return ifname == vif::kDefaultIfname; }
};

}  // namespace kuryr::controller::neutron
