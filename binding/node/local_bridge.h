#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ip.h"
#include "binding/hairpin_mode.h"
#include "binding/netlink/link.h"

namespace kuryr::binding {

/// The node's side of a network without a producer: a bridge of the kernel that is the pods'
/// gateway, as kubenet's cbr0 was.
struct LocalBridge {
  std::string name;
  std::vector<IpNetwork> gateways;  ///< the bridge's own addresses; their networks are the pods'
  uint32_t mtu = 0;                 ///< 0: SmallestMtu when the bridge is made, then as it is
  HairpinMode hairpin = HairpinMode::kNone;
  std::vector<IpNetwork> non_masquerade_cidrs;  ///< as in Masquerade
};

/// Makes it, without its gateways, in the calling thread's namespace. Its MTU is the one for pods.
/// One that is there already keeps its MAC and addresses. Idempotent, and may be done by many at
/// the same time; since they share the bridge, what was done stays when a later step fails. Throws
/// std::system_error; before the first change for a name that is no bridge's.
void MakeLocalBridge(const LocalBridge& wanted);

/// Gives the bridge its gateways, and masquerades. A gateway's family is forwarded by the node from
/// then on (net.ipv4.ip_forward, net.ipv6.conf.all.forwarding). A bridge that MakeLocalBridge made
/// gets its MAC from its first gateway. Idempotent as MakeLocalBridge. Throws std::system_error;
/// before the first change for a second address in a network of the bridge's.
void GiveGateways(const LocalBridge& wanted);

/// The smallest MTU of the node's links that are up and lead somewhere; 1500 without any. Loopback,
/// bridges, dummies and our own links lead nowhere. Virtual ports of another link, which VMs and
/// other plugins' pods have, do not count; a physical port does.
[[nodiscard]] uint32_t SmallestMtu();

}  // namespace kuryr::binding
