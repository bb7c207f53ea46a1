#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"
#include "cni/protocol/version.h"

namespace kuryr::cni {

struct ResultInterface {
  std::string name;
  MacAddress mac;
  std::string sandbox;  ///< CNI_NETNS as given; empty for an interface of the host

  bool operator==(const ResultInterface&) const = default;
};

struct ResultIp {
  IpNetwork address;  ///< host bits kept
  std::optional<IpAddress> gateway;
  size_t interface = 0;  ///< index in Result::interfaces

  bool operator==(const ResultIp&) const = default;
};

struct ResultRoute {
  IpNetwork destination;
  std::optional<IpAddress> gateway;

  bool operator==(const ResultRoute&) const = default;
};

/// What an ADD made (CNI SPEC section 5 "Success"), in the newest form.
struct Result {
  std::vector<ResultInterface> interfaces;
  std::vector<ResultIp> ips;
  std::vector<ResultRoute> routes;
  std::vector<IpAddress> nameservers;

  bool operator==(const Result&) const = default;
};

/// The result as the given version of the specification spells it; lists that are empty are left
/// out. Down to 0.2.0 only the first address of each family is told; a result without addresses
/// cannot be told then: throws CniError.
[[nodiscard]] std::string ResultJson(const Result& result, SpecVersion version);

}  // namespace kuryr::cni
