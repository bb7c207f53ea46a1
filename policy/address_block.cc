#include "policy/address_block.h"

#include <algorithm>
#include <span>

namespace kuryr::policy {
namespace {

bool IsWithin(const IpNetwork& part, const IpNetwork& whole) {
  return part.prefix_length >= whole.prefix_length && whole.Contains(part.address);
}

IpNetwork UpperHalf(IpNetwork lower) {
  const unsigned bit = lower.prefix_length - 1U;
  lower.address.bytes[bit / 8] |= static_cast<uint8_t>(0x80U >> bit % 8);
  return lower;
}

/// Appends what is left of `network` without the exceptions, which are sorted and within it.
void AppendRest(const IpNetwork& network, std::span<const IpNetwork> except,
                std::vector<IpNetwork>& rest) {
  if (except.empty()) {
    rest.push_back(network);
    return;
  }
  if (except.front().prefix_length <= network.prefix_length) return;
  IpNetwork lower = network;
  ++lower.prefix_length;
  const auto middle = std::partition_point(
      except.begin(), except.end(), [&](const IpNetwork& part) { return IsWithin(part, lower); });
  AppendRest(lower, {except.begin(), middle}, rest);
  AppendRest(UpperHalf(lower), {middle, except.end()}, rest);
}

}  // namespace

bool AddressBlock::Contains(const IpAddress& address) const noexcept {
  return network.Contains(address) &&
         std::none_of(except.begin(), except.end(),
                      [&](const IpNetwork& part) { return part.Contains(address); });
}

std::vector<IpNetwork> AddressBlock::Networks() const {
  std::vector<IpNetwork> parts;
  parts.reserve(except.size());
  for (const IpNetwork& part : except) parts.push_back(part.Masked());
  std::sort(parts.begin(), parts.end());
  std::vector<IpNetwork> rest;
  AppendRest(network.Masked(), parts, rest);
  return rest;
}

}  // namespace kuryr::policy
