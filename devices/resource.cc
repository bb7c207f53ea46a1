#include "devices/resource.h"

#include <algorithm>

namespace kuryr::devices {

const Selector* Resource::Find(const Device& device) const {
  if (device.type != type) return nullptr;
  const auto found =
      std::find_if(selectors.begin(), selectors.end(),
                   [&](const Selector& selector) { return selector.Matches(device); });
  return found == selectors.end() ? nullptr : &*found;
}

bool Resource::Matches(const Device& device) const {
  return device.type == type && (selectors.empty() || Find(device) != nullptr);
}

}  // namespace kuryr::devices
