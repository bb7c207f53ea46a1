#include "controller/backends/neutron/held/seen_port.h"

#include <algorithm>

#include "controller/backends/neutron/api/port_name.h"

namespace kuryr::controller::neutron {

SeenPort SeenPortOf(const Port& port, SeenPort::Clock::time_point at) {
  SeenPort seen{
      .ifname = PartsOfName(port).ifname, .groups = port.security_groups, .subnets = {}, .at = at};
  std::sort(seen.groups.begin(), seen.groups.end());
  for (const FixedIp& ip : port.fixed_ips) seen.subnets.insert(ip.subnet_id);
  return seen;
}

}  // namespace kuryr::controller::neutron
