#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "controller/backends/pools/intervals.h"

namespace kuryr::controller::pools {

/// One network of one family that pods get addresses of.
struct PoolSubnet {
  IpNetwork cidr;  ///< without host bits
  std::optional<IpAddress> gateway;
  Intervals addresses;  ///< those that may be given away
};

/// Why pods cannot live in `cidr`, for a message; nullopt when they can.
[[nodiscard]] std::optional<std::string> WhyNoSubnet(const IpNetwork& cidr);

/// The first address after the network's own, as CNI's IPAM plugins have it; nullopt where the
/// network has none.
[[nodiscard]] std::optional<IpAddress> DefaultGateway(const IpNetwork& cidr);

/// Whether the address is the network's own. That is the first one of IPv4 and of IPv6 (the
/// subnet-router anycast address, RFC 4291, 2.6.1), and the last one of IPv4 (broadcast). Of a
/// network of one or two addresses none is (RFC 3021, RFC 6164).
[[nodiscard]] bool IsReserved(const IpNetwork& cidr, const IpAddress& address);

/// Of `ranges`, or of all the network without any: what is neither reserved, the gateway nor
/// excluded.
[[nodiscard]] PoolSubnet MakePoolSubnet(const IpNetwork& cidr,
                                        const std::optional<IpAddress>& gateway,
                                        const std::vector<Range>& ranges,
                                        const std::vector<Range>& excluded);

}  // namespace kuryr::controller::pools
