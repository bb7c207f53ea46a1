#pragma once

#include <string>
#include <vector>

#include "base/ip.h"

namespace kuryr::binding {

/// Packets from a bridge's pods to the world leave with the node's address. The rules are chain
/// "masquerade-BRIDGE" of the table "inet kuryr-cni" (nft(8)).
struct Masquerade {
  std::string bridge;
  std::vector<IpNetwork> pods;  ///< the subnets on the bridge; host bits do not matter
  /// Destinations that see the pod's own address; those in the same subnet and multicast groups
  /// always do. A family without any is not masqueraded at all.
  std::vector<IpNetwork> non_masquerade_cidrs;
};

/// In the calling thread's namespace: one transaction, which replaces what there was of this
/// bridge and touches nothing else. Pods of earlier calls stay masqueraded as long as the bridge
/// has an address in their subnet, and the exceptions are then this call's. All pods of the bridge
/// see each other's own addresses. Connections that exist keep theirs. Throws std::system_error.
void ApplyMasquerade(const Masquerade& masquerade);
/// False when there was none. The table goes with its last chain.
bool RemoveMasquerade(const std::string& bridge);

}  // namespace kuryr::binding
