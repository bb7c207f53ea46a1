#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cni/protocol/environment.h"
#include "cni/protocol/ovs_cni_config.h"
#include "cni/protocol/result.h"
#include "cni/protocol/version.h"

namespace kuryr::cni {

/// A network that this node makes by itself: its VIFs come from the configuration and a delegated
/// IPAM plugin, and not from a producer. The fields are named as the reference bridge plugin's.
struct StandaloneNetwork {
  enum class Kind { kBridge, kOvs };

  Kind kind = Kind::kBridge;
  std::string bridge;               ///< "cbr0", or "br-int" with kOvs; ovs-cni's may have none
  std::optional<uint16_t> vlan;     ///< 1 to 4094: tag of the port, or of `uplink`
  std::string uplink;               ///< link whose VLAN becomes a port of the bridge; or empty
  uint32_t mtu = 0;                 ///< bytes; 0: the smallest of the node's links
  bool is_gateway = true;           ///< the bridge has the gateway's address
  bool is_default_gateway = false;  ///< the pods' default route leads there
  bool ip_masq = false;
  bool hairpin_mode = true;
  bool promisc_mode = false;
  std::optional<OvsCniConfig> ovs_cni;  ///< with kOvs: the configuration is ovs-cni's

  bool operator==(const StandaloneNetwork&) const = default;
};

/// (containerID, ifname) of an attachment that is not to be collected.
using ValidAttachment = std::pair<std::string, std::string>;

/// The network configuration from stdin, checked (CNI SPEC section 1; section 2 for the runtime's
/// additions).
struct NetworkConfig {
  std::string cni_version;  ///< as given
  SpecVersion version = SpecVersion::k010;
  std::string name;
  std::string kuryr_conf;  ///< path of kuryr.conf; empty: the default
  bool debug = false;
  bool is_ovs_cni = false;                      ///< "type" is kOvsCniType
  std::string ovsdb_connection;                 ///< ovs-cni's socket_file; empty: kuryr.conf's
  std::string ipam;                             ///< plugin to delegate to; empty: none
  std::optional<StandaloneNetwork> standalone;  ///< unset: VIFs come from the pod's annotation
  Dns dns;
  std::optional<nlohmann::json> prev_result;
  /// For GC: unset when the runtime sent no list. An empty list says that none is valid.
  std::optional<std::vector<ValidAttachment>> valid_attachments;
  nlohmann::json json;  ///< all of it, for the delegate
};

/// Parses the JSON object from stdin and renames its keys (NameKeys). Throws CniError 6.
[[nodiscard]] nlohmann::json ParseInput(std::string_view input);
/// The member cniVersion; empty where it is missing. Throws CniError 6 when it is no string.
[[nodiscard]] std::string VersionField(const nlohmann::json& config);

/// Throws CniError 1 for a version we do not support, 2 for a field we cannot obey, 7 for a
/// malformed one. A DEL must not fail for fields that it does not need: it leaves `standalone` and
/// `dns` unset.
[[nodiscard]] NetworkConfig ParseNetworkConfig(nlohmann::json input, Command command);

}  // namespace kuryr::cni
