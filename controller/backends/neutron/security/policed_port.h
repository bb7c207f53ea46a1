#pragma once

#include <set>
#include <string>

#include "vif/pod_vifs.h"

namespace kuryr::controller::neutron {

/// A port as policies know it.
struct PolicedPort {
  std::string ifname;
  std::set<std::string> subnets;  ///< ids of those that it has addresses in

  /// False: NetworkPolicies are for it. True: MultiNetworkPolicies for a network that names one of
  /// its subnets.
  [[nodiscard]] bool is_additional() const { return ifname != vif::kDefaultIfname; }
};

}  // namespace kuryr::controller::neutron
