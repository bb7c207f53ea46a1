#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"
#include "cni/protocol/args.h"
#include "cni/protocol/bandwidth.h"
#include "cni/protocol/result.h"

namespace kuryr::cni {

/// The runtime's wishes for one attachment (CNI CONVENTIONS: capabilities and args).
struct Wishes {
  std::optional<MacAddress> mac;
  std::vector<IpNetwork> ips;  ///< a missing prefix length is the whole address
  std::string device_id;       ///< a PCI address, or an auxiliary device's name
  std::string ovn_port;        ///< name of a logical port of OVN, for ovs-cni's networks
  Dns dns;
  Bandwidth bandwidth;  ///< each rate is 0, or from 1000 to 2^53

  bool operator==(const Wishes&) const = default;
};

/// runtimeConfig of the network configuration wins over args.cni, and args.cni over CNI_ARGS. The
/// configuration's own "deviceID" wins over a device in args.cni. For an OVN port, CNI_ARGS wins
/// over args.cni. The case of keys in runtimeConfig and args.cni does not matter: go-cni writes
/// "HostPort". portMappings are only checked: a plugin behind us in the chain uses them. A burst
/// from 2^32 - 1 on is none: runtimes send such a number for a burst that nobody asks for. Throws
/// CniError 7 for malformed values, and 4 for those of CNI_ARGS.
[[nodiscard]] Wishes ParseWishes(const nlohmann::json& config, const Args& args);

}  // namespace kuryr::cni
