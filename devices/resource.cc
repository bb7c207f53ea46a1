#include "devices/resource.h"

#include <algorithm>

namespace kuryr::devices {

bool IsResourceName(std::string_view text) {
  constexpr size_t kMost = 63;
  constexpr std::string_view kSigns = "-_.";
  constexpr std::string_view kAlphanumeric =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const auto is_in = [](std::string_view set, char c) { return set.find(c) != set.npos; };
  return !text.empty() && text.size() <= kMost && is_in(kAlphanumeric, text.front()) &&
         is_in(kAlphanumeric, text.back()) && std::all_of(text.begin(), text.end(), [&](char c) {
           return is_in(kAlphanumeric, c) || is_in(kSigns, c);
         });
}

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
