#include "cni/pod/pod_result.h"

#include <algorithm>

#include "binding/drivers/drivers.h"

namespace kuryr::cni {
namespace {

/// The index of the VIF's interface inside the pod.
size_t AddInterfaces(const PluggedVif& plugged, const std::string& sandbox, Result& result) {
  size_t in_pod = 0;
  for (const binding::Interface& interface : plugged.interfaces) {
    if (interface.in_pod) in_pod = result.interfaces.size();
    result.interfaces.push_back({.name = interface.name,
                                 .mac = interface.mac.ToString(),
                                 .mtu = interface.mtu,
                                 .sandbox = interface.in_pod ? sandbox : ""});
  }
  return in_pod;
}

/// Adds by what an application finds a device: a socket's path, or a lent device's PCI address.
void AddDevice(const binding::Plug& plug, ResultInterface& interface) {
  const binding::DriverRow* driver = binding::FindDriverRow(plug.driver);
  if (driver == nullptr) return;
  if (driver->device == binding::PodDevice::kSocket) interface.socket_path = plug.device;
  if (driver->device == binding::PodDevice::kPciFunction) interface.pci_id = plug.device;
}

void AddNameservers(const std::vector<IpAddress>& nameservers, Result& result) {
  auto& known = result.dns.nameservers;
  for (const IpAddress& server : nameservers) {
    const std::string text = server.ToString();
    if (std::find(known.begin(), known.end(), text) == known.end()) known.push_back(text);
  }
}

}  // namespace

Result MakeResult(const std::vector<PluggedVif>& vifs, const std::string& sandbox) {
  Result result;
  for (const PluggedVif& plugged : vifs) {
    const binding::L3Plan& plan = plugged.planned.l3;
    const size_t interface = AddInterfaces(plugged, sandbox, result);
    AddDevice(plugged.planned.plug, result.interfaces[interface]);
    for (const binding::L3Plan::Address& address : plan.addresses) {
      result.ips.push_back(
          {.address = address.network, .gateway = address.gateway, .interface = interface});
    }
    for (const binding::LinkRoute& route : plan.routes) {
      result.routes.push_back({.destination = route.destination, .gateway = route.gateway});
    }
    AddNameservers(plan.nameservers, result);
  }
  return result;
}

}  // namespace kuryr::cni
