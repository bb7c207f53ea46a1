#include "controller/backends/neutron/held/seen_port.h"

#include <algorithm>

namespace kuryr::controller::neutron {

SeenPort SeenPortOf(const Port& port, SeenPort::Clock::time_point at) {
  SeenPort seen{.ifname = {}, .groups = port.security_groups, .subnets = {}, .at = at};
  std::sort(seen.groups.begin(), seen.groups.end());
  const size_t first = port.name.find('/');
  const size_t last = port.name.rfind('/');
  if (first != last) seen.ifname = port.name.substr(last + 1);
  for (const FixedIp& ip : port.fixed_ips) seen.subnets.insert(ip.subnet_id);
  return seen;
}

}  // namespace kuryr::controller::neutron
