#include "controller/backends/neutron/api/port_name.h"

namespace kuryr::controller::neutron {
namespace {

constexpr size_t kLongestPortName = 255;

}  // namespace

std::string PortNameOf(const Owner& owner, const std::string& ifname) {
  const size_t rest = kLongestPortName - ifname.size() - 1;
  return (owner.scope + "/" + owner.name).substr(0, rest) + "/" + ifname;
}

bool HasWholeName(const Port& port) { return port.name.size() < kLongestPortName; }

std::string IfnameOf(const Port& port) {
  const size_t first = port.name.find('/');
  const size_t last = port.name.rfind('/');
  return first == last ? "" : port.name.substr(last + 1);
}

Owner OwnerOf(const std::string& id, const Port& port) {
  const size_t first = port.name.find('/');
  const size_t last = port.name.rfind('/');
  Owner owner{.id = id, .node = port.host_id};
  if (first == last) return owner;
  owner.scope = port.name.substr(0, first);
  owner.name = port.name.substr(first + 1, last - first - 1);
  return owner;
}

}  // namespace kuryr::controller::neutron
