#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "controller/backends/neutron/api/port.h"

namespace kuryr::controller::neutron {

/// The fields of a port that its policies' security groups follow from, as Neutron told them.
struct SeenPort {
  using Clock = std::chrono::steady_clock;

  std::string ifname;               ///< as the port's name says; empty: it does not
  std::vector<std::string> groups;  ///< security groups, sorted
  std::set<std::string> subnets;    ///< ids of those that it has addresses in
  Clock::time_point at;             ///< when Neutron told them
};

[[nodiscard]] SeenPort SeenPortOf(const Port& port, SeenPort::Clock::time_point at);

}  // namespace kuryr::controller::neutron
