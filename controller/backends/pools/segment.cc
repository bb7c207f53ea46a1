#include "controller/backends/pools/segment.h"

#include <algorithm>

namespace kuryr::controller::pools {

const Holder* Segment::FindMac(const MacAddress& mac) const {
  for (const Allocator& allocator : all_) {
    if (!ShareSegment(allocator.pool(), one_.pool())) continue;
    if (const Holder* holder = allocator.FindMac(mac)) return holder;
  }
  return nullptr;
}

std::optional<std::string> Segment::WhyNotFor(const std::vector<Number>& addresses,
                                              const MacAddress& mac) {
  const std::string what = "MAC address " + mac.ToString();
  if (!mac.IsUnicast()) return what + " is no interface's: the first byte has to be even";
  const auto address = AddressOfMac(mac);
  if (!address ||
      std::find(addresses.begin(), addresses.end(), NumberOf(*address)) != addresses.end())
    return std::nullopt;
  return what + " is for the interface with address " + address->ToString() + ", or for a router";
}

}  // namespace kuryr::controller::pools
