#include "binding/drivers/drivers.h"

#include <algorithm>

namespace kuryr::binding {

const DriverRow* FindDriverRow(std::string_view name) {
  const auto* const row =
      std::find_if(kDrivers.begin(), kDrivers.end(),
                   [name](const DriverRow& driver) { return driver.name == name; });
  return row == kDrivers.end() ? nullptr : &*row;
}

std::vector<std::string> HostNamesOf(const Plug& plug) {
  std::vector<std::string> names;
  if (plug.driver == kHybridDriver) names = HybridNamesOf(plug);
  if (!plug.host_interface.empty()) names.push_back(plug.host_interface);
  return names;
}

bool HasOvsPort(const Plug& plug) {
  const DriverRow* row = FindDriverRow(plug.driver);
  if (row == nullptr || plug.bridge.empty()) return false;
  return row->ports != OvsPorts::kNone;
}

}  // namespace kuryr::binding
