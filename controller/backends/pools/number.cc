#include "controller/backends/pools/number.h"

#include <algorithm>

namespace kuryr::controller::pools {
namespace {

constexpr Number kIpv4Prefix = Number{0xffff} << 32;

}  // namespace

Number NumberOf(const IpAddress& address) noexcept {
  Number number = 0;
  for (size_t i = 0; i < address.size(); ++i) number = number << 8 | address.bytes[i];
  return address.family == IpFamily::kIpv4 ? kIpv4Prefix | number : number;
}

IpAddress AddressOf(Number number) noexcept {
  IpAddress address;
  address.family = number >> 32 == 0xffff ? IpFamily::kIpv4 : IpFamily::kIpv6;
  for (size_t i = address.size(); i-- > 0; number >>= 8)
    address.bytes[i] = static_cast<uint8_t>(number);
  return address;
}

Range RangeOf(const IpNetwork& network) noexcept {
  const Number first = NumberOf(network.Masked().address);
  const size_t host_bits = network.address.size() * 8 - network.prefix_length;
  const Number rest = host_bits == 128 ? ~Number{0} : (Number{1} << host_bits) - 1;
  return {.first = first, .last = first + rest};
}

}  // namespace kuryr::controller::pools
