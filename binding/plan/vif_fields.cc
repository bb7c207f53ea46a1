#include "binding/plan/vif_fields.h"

#include <cerrno>

#include "base/error.h"
#include "base/names.h"

namespace kuryr::binding {

std::string LinkNameOf(const vif::Field<std::string>& field, const std::string& path) {
  const std::string& name = vif::Required(field, path);
  // The kernel takes '%' for a pattern, and chooses another name.
  if (!IsLinkName(name) || name.find('%') != std::string::npos) {
    throw ParseError(
        path, "\"" + Printable(name) + "\" is no interface name (" + kLinkNameRule + ", no '%')");
  }
  return name;
}

std::string BridgeOf(const vif::Field<std::string>& bridge_name, const vif::VifBase& vif) {
  if (bridge_name.has_value()) return LinkNameOf(bridge_name, "$.bridge_name");
  if (vif.network.has_value() && vif.network->bridge.has_value())
    return LinkNameOf(vif.network->bridge, "$.network.bridge");
  throw ParseError("$.bridge_name", "is not set, nor is $.network.bridge");
}

vif::PciAddress PciAddressOf(const Plug& plug) {
  const auto address = vif::PciAddress::Parse(plug.device);
  if (!address) ThrowErrno(EINVAL, "use \"" + Printable(plug.device) + "\" as PCI address");
  return *address;
}

uint32_t MtuOnBridge(RouteSocket& host, const Planned& planned) {
  const auto bridge = planned.mtu.is_decided() ? std::nullopt : host.FindLink(planned.plug.bridge);
  return planned.mtu.On(bridge ? bridge->mtu : kEthernetMtu);
}

}  // namespace kuryr::binding
