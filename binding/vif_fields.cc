#include "binding/vif_fields.h"

#include <algorithm>

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

uint32_t MtuFor(const vif::VifBase& vif, uint32_t limit, uint32_t below) {
  const uint32_t mtu = MtuOf(vif).value_or(below);
  return limit > 0 ? std::min(limit, mtu) : mtu;
}

uint32_t MtuOnBridge(RouteSocket& host, const std::string& bridge, const vif::VifBase& vif,
                     uint32_t limit) {
  const auto link = MtuOf(vif) ? std::nullopt : host.FindLink(bridge);
  return MtuFor(vif, limit, link ? link->mtu : kEthernetMtu);
}

}  // namespace kuryr::binding
