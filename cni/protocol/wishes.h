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

/// What the runtime asks for this one attachment (CNI CONVENTIONS: capabilities and args).
struct Wishes {
  std::optional<MacAddress> mac;
  std::vector<IpNetwork> ips;  ///< a missing prefix length is the whole address
  std::string device_id;       ///< a PCI address, or an auxiliary device's name
  std::string ovn_port;        ///< name of a logical port of OVN, for ovs-cni's networks
  Dns dns;
  Bandwidth bandwidth;  ///< any numbers; for ovs-cni's networks

  bool operator==(const Wishes&) const = default;
};

/// What the network configuration says in runtimeConfig wins over args.cni, and that over CNI_ARGS.
/// A device may stand in its own "deviceID", in the place of args.cni. Of an OVN port CNI_ARGS wins
/// over args.cni. The keys inside both are compared without regard to case: go-cni writes
/// "HostPort". portMappings are for a plugin behind us in the chain, and only looked at; so is
/// bandwidth, but for networks of ovs-cni. Throws CniError 7 for malformed values, and 4 for those
/// of CNI_ARGS.
[[nodiscard]] Wishes ParseWishes(const nlohmann::json& config, const Args& args);

}  // namespace kuryr::cni
