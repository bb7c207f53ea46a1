#include "cni/pod/pod_result.h"

#include <algorithm>

#include "binding/drivers/drivers.h"
#include "binding/l3.h"

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

/// What an application finds a device by that is no network interface, or that was lent.
void AddDevice(const binding::Plug& plug, ResultInterface& interface) {
  const binding::DriverRow* driver = binding::FindDriverRow(plug.driver);
  if (driver == nullptr) return;
  if (driver->device == binding::PodDevice::kSocket) interface.socket_path = plug.device;
  if (driver->device == binding::PodDevice::kPciFunction) interface.pci_id = plug.device;
}

void AddNameservers(const vif::VifBase& vif, Result& result) {
  if (!vif.network.has_value() || !vif.network->subnets.has_value()) return;
  for (const vif::Subnet& subnet : *vif.network->subnets) {
    if (!subnet.dns.has_value()) continue;
    for (const IpAddress& server : *subnet.dns) {
      auto& known = result.dns.nameservers;
      const std::string text = server.ToString();
      if (std::find(known.begin(), known.end(), text) == known.end()) known.push_back(text);
    }
  }
}

}  // namespace

Result MakeResult(const std::vector<PluggedVif>& vifs, const std::string& sandbox) {
  Result result;
  for (const PluggedVif& plugged : vifs) {
    const vif::VifBase& vif = vif::Common(plugged.vif.vif);
    const size_t interface = AddInterfaces(plugged, sandbox, result);
    AddDevice(plugged.plug, result.interfaces[interface]);
    const binding::L3Plan plan = binding::PlanL3(vif, plugged.vif.is_default);
    for (const binding::L3Plan::Address& address : plan.addresses) {
      result.ips.push_back(
          {.address = address.network, .gateway = address.gateway, .interface = interface});
    }
    for (const binding::LinkRoute& route : plan.routes) {
      result.routes.push_back({.destination = route.destination, .gateway = route.gateway});
    }
    AddNameservers(vif, result);
  }
  return result;
}

}  // namespace kuryr::cni
