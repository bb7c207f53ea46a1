#include "controller/backends/pools/pool_subnet.h"

#include <algorithm>

namespace kuryr::controller::pools {
namespace {

/// A wider network is a mistake: no cluster has so many pods.
constexpr uint8_t kLeastPrefix = 8;

struct Special {
  const char* network;
  const char* what;
};
/// Source: https://www.iana.org/assignments/iana-ipv4-special-registry and its IPv6 counterpart.
constexpr Special kSpecials[] = {
    {"0.0.0.0/8", "\"this network\""}, {"127.0.0.0/8", "loopback"}, {"224.0.0.0/4", "multicast"},
    {"240.0.0.0/4", "reserved"},       {"::/8", "reserved"},        {"fe80::/10", "link-local"},
    {"ff00::/8", "multicast"}};

bool HasReserved(const IpNetwork& cidr) {
  return cidr.prefix_length < (cidr.address.family == IpFamily::kIpv6 ? 127 : 31);
}

}  // namespace

std::optional<std::string> WhyNoSubnet(const IpNetwork& cidr) {
  const std::string text = cidr.ToString();
  if (cidr.prefix_length < kLeastPrefix)
    return text + " is too wide: its prefix length is below " + std::to_string(kLeastPrefix);
  if (cidr.Masked() != cidr)
    return text + " has host bits; the network is " + cidr.Masked().ToString();
  for (const Special& special : kSpecials) {
    const IpNetwork network = IpNetwork::Parse(special.network).value();
    if (network.address.family == cidr.address.family && RangeOf(network).Overlaps(RangeOf(cidr)))
      return text + " overlaps " + special.network + ", which is " + special.what;
  }
  return std::nullopt;
}

std::optional<IpAddress> DefaultGateway(const IpNetwork& cidr) {
  const Range range = RangeOf(cidr);
  if (range.first == range.last) return std::nullopt;
  return AddressOf(range.first + 1);
}

bool IsReserved(const IpNetwork& cidr, const IpAddress& address) {
  if (!HasReserved(cidr)) return false;
  const Range range = RangeOf(cidr);
  const Number number = NumberOf(address);
  return number == range.first || (number == range.last && cidr.address.family == IpFamily::kIpv4);
}

PoolSubnet MakePoolSubnet(const IpNetwork& cidr, const std::optional<IpAddress>& gateway,
                          const std::vector<Range>& ranges, const std::vector<Range>& excluded) {
  PoolSubnet subnet{.cidr = cidr, .gateway = gateway};
  const Range all = RangeOf(cidr);
  if (ranges.empty()) subnet.addresses.Add(all);
  for (const Range& range : ranges) subnet.addresses.Add(range);
  for (const Range& range : excluded) subnet.addresses.Remove(range);
  if (gateway) subnet.addresses.Remove({NumberOf(*gateway), NumberOf(*gateway)});
  if (HasReserved(cidr)) {
    subnet.addresses.Remove({all.first, all.first});
    if (cidr.address.family == IpFamily::kIpv4) subnet.addresses.Remove({all.last, all.last});
  }
  return subnet;
}

}  // namespace kuryr::controller::pools
