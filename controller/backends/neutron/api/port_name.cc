#include "controller/backends/neutron/api/port_name.h"

namespace kuryr::controller::neutron {

PortName PartsOfName(const Port& port) {
  const size_t first = port.name.find('/');
  const size_t last = port.name.rfind('/');
  if (first == last) return {};
  return {.scope = port.name.substr(0, first),
          .name = port.name.substr(first + 1, last - first - 1),
          .ifname = port.name.substr(last + 1)};
}

}  // namespace kuryr::controller::neutron
