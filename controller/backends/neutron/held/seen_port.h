#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "controller/backends/neutron/api/port.h"

namespace kuryr::controller::neutron {

/// What policies ask of a port, as Neutron had it at some time.
struct SeenPort {
  using Clock = std::chrono::steady_clock;

  std::string ifname;               ///< as the port's name says; empty: it does not
  std::vector<std::string> groups;  ///< security groups, sorted
  std::set<std::string> subnets;    ///< ids of those that it has addresses in
  Clock::time_point at;
};

[[nodiscard]] SeenPort SeenPortOf(const Port& port, SeenPort::Clock::time_point at);

}  // namespace kuryr::controller::neutron
