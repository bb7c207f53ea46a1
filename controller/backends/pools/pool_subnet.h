#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "controller/backends/pools/intervals.h"

namespace kuryr::controller::pools {

/// One network of a pool.
struct PoolSubnet {
  IpNetwork cidr;  ///< without host bits
  std::optional<IpAddress> gateway;
  Intervals addresses;  ///< those that pods may get
};

/// Why pods cannot use `cidr`, for a message; nullopt when they can.
[[nodiscard]] std::optional<std::string> WhyNoSubnet(const IpNetwork& cidr);

/// The first address after the network's own, as CNI's IPAM plugins choose it; nullopt if there is
/// none.
[[nodiscard]] std::optional<IpAddress> DefaultGateway(const IpNetwork& cidr);

/// Whether the network reserves the address. IPv4 reserves the first (network) and the last
/// (broadcast). IPv6 reserves the first (subnet-router anycast, RFC 4291, 2.6.1). A network of one
/// or two addresses reserves none (RFC 3021, RFC 6164).
[[nodiscard]] bool IsReserved(const IpNetwork& cidr, const IpAddress& address);

/// The subnet with the addresses of `ranges`, or of all of `cidr` if there are no ranges. Addresses
/// that are reserved, excluded or the gateway are left out.
[[nodiscard]] PoolSubnet MakePoolSubnet(const IpNetwork& cidr,
                                        const std::optional<IpAddress>& gateway,
                                        const std::vector<Range>& ranges,
                                        const std::vector<Range>& excluded);

}  // namespace kuryr::controller::pools
