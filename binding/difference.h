#pragma once

#include <string>
#include <vector>

namespace kuryr::binding {

/// The property in which a plug is not as Connect made it.
enum class DifferenceKind {
  kLink,   ///< a link is missing, of another kind, or another owner's
  kAlias,  ///< the mark of a link is gone
  kMac,
  kMtu,
  kState,   ///< a link is down
  kBridge,  ///< a bridge is missing, or a link or port is on another one
  kChecksums,
  kAddress,
  kRoute,
  kPort,  ///< a port is missing, another owner's, or does not work
  kExternalIds,
  kVlan,
  kProtection,  ///< the port may reach other pods' ports directly, or send from other addresses
  kQos,
  kMirror,
  kDevice,  ///< a PCI device is missing, or has another driver
  kFile,    ///< a file for the pod's application is missing, or has other contents
  kSocket,
  kSetting,  ///< a setting of the kernel (sysctl) has another value
  kRules,    ///< nftables has other rules
};

/// One thing that is not as Connect made it.
struct Difference {
  DifferenceKind kind = DifferenceKind::kLink;
  std::string what;      ///< name of the link, port, bridge, device or file
  std::string expected;  ///< the planned value; empty where `text` alone says it
  std::string found;     ///< the present value; empty where there is none
  std::string text;      ///< all of it in words, for people
  /// The planned state can be made again while the pod runs, without harm to the pod.
  bool live_safe = false;
};
using Differences = std::vector<Difference>;

}  // namespace kuryr::binding
