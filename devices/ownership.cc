#include "devices/ownership.h"

#include <algorithm>

namespace kuryr::devices {
namespace {

bool Has(const std::vector<Resource>& resources, const std::string& name) {
  return std::any_of(resources.begin(), resources.end(),
                     [&](const Resource& resource) { return resource.FullName() == name; });
}

}  // namespace

Owners FindOwners(const std::vector<Resource>& resources, const std::vector<Device>& devices,
                  const Owners& held) {
  Owners owners;
  for (const Device& device : devices) {
    if (const auto holder = held.find(device.id); holder != held.end()) {
      if (Has(resources, holder->second)) owners.insert(*holder);
      continue;
    }
    const auto first =
        std::find_if(resources.begin(), resources.end(),
                     [&](const Resource& resource) { return resource.Matches(device); });
    if (first != resources.end()) owners.emplace(device.id, first->FullName());
  }
  return owners;
}

}  // namespace kuryr::devices
