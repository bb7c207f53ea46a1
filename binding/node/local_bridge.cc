#include "binding/node/local_bridge.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/hash.h"
#include "binding/host_link.h"
#include "binding/interfaces.h"
#include "binding/link_mark.h"
#include "binding/node/masquerade.h"
#include "binding/sysctl.h"
#include "binding/vif_fields.h"

namespace kuryr::binding {
namespace {

/// 0a:58 and the last four bytes of the first gateway, as kubenet's, or of the name's hash. A
/// bridge without a MAC of its own takes a port's, and pods would lose their gateway with that
/// port.
MacAddress MacOf(const LocalBridge& wanted) {
  MacAddress mac{.bytes = {0x0a, 0x58}};
  if (wanted.gateways.empty()) {
    uint64_t hash = Hash(wanted.name);
    for (size_t i = 2; i < mac.bytes.size(); ++i, hash >>= 8)
      mac.bytes[i] = static_cast<uint8_t>(hash);
    return mac;
  }
  const IpAddress& gateway = wanted.gateways.front().address;
  const auto* end = gateway.bytes.begin() + gateway.size();
  std::copy(end - 4, end, mac.bytes.begin() + 2);
  return mac;
}

bool HasIpv6(const LocalBridge& bridge) {
  return std::any_of(bridge.gateways.begin(), bridge.gateways.end(), [](const IpNetwork& gateway) {
    return gateway.address.family == IpFamily::kIpv6;
  });
}

Link FindOrCreate(RouteSocket& host, const LocalBridge& wanted) {
  auto link = host.FindLink(wanted.name);
  if (!link) {
    // False: another ADD was faster.
    (void)host.CreateBridgeDown(wanted.name, MacOf(wanted));
    link = Find(host, wanted.name);
  }
  if (link->kind != "bridge")
    ThrowErrno(EINVAL, "use " + wanted.name + " as bridge: its kind is \"" + link->kind + "\"");
  // Down and without addresses: its maker is not done with it, or was killed.
  const bool is_unfinished = !link->up && host.AddressesOf(*link).empty();
  if (is_unfinished && !HasIpv6(wanted)) DisableIpv6(wanted.name);
  return *std::move(link);
}

bool Overlap(const IpNetwork& a, const IpNetwork& b) {
  return a.Contains(b.address) || b.Contains(a.address);
}

void RequireNoOverlap(const std::string& bridge, const IpNetwork& gateway,
                      std::span<const IpNetwork> others) {
  for (const IpNetwork& other : others) {
    if (other == gateway || !Overlap(other, gateway)) continue;
    ThrowErrno(EADDRINUSE, "give bridge " + bridge + " the address " + gateway.ToString() +
                               ": it overlaps the bridge's " + other.ToString());
  }
}

void RequireNoOverlap(const LocalBridge& wanted) {
  const std::span<const IpNetwork> gateways = wanted.gateways;
  for (size_t i = 1; i < gateways.size(); ++i)
    RequireNoOverlap(Printable(wanted.name), gateways[i], gateways.first(i));
}

/// The gateways that the bridge does not have yet.
std::vector<IpNetwork> MissingGateways(RouteSocket& host, const Link& bridge,
                                       const LocalBridge& wanted) {
  const std::vector<IpNetwork> present = host.AddressesOf(bridge);
  std::vector<IpNetwork> missing;
  for (const IpNetwork& gateway : wanted.gateways) {
    RequireNoOverlap(bridge.name, gateway, present);
    if (std::find(present.begin(), present.end(), gateway) == present.end())
      missing.push_back(gateway);
  }
  return missing;
}

bool IsVirtualPort(const Link& link) { return link.master != 0 && !link.kind.empty(); }

bool LeadsSomewhere(const Link& link) {
  return link.up && link.name != "lo" && link.kind != "bridge" && link.kind != "dummy" &&
         !IsVirtualPort(link) && !LinkMark::Parse(link.alias);
}

uint32_t MtuOf(const Link& bridge, const LocalBridge& wanted) {
  if (wanted.mtu != 0) return wanted.mtu;
  // Down: its maker is not done with it yet, or was killed.
  return bridge.up ? bridge.mtu : SmallestMtu();
}

void EnableForwarding(const LocalBridge& wanted) {
  for (const IpNetwork& gateway : wanted.gateways) {
    const bool ipv4 = gateway.address.family == IpFamily::kIpv4;
    SetSysctl(ipv4 ? "net/ipv4/ip_forward" : "net/ipv6/conf/all/forwarding", '1');
  }
}

void AddGateways(RouteSocket& host, const Link& bridge, const std::vector<IpNetwork>& gateways) {
  for (const IpNetwork& gateway : gateways) {
    // The bridge was made without, or the node's links have none by default.
    if (gateway.address.family == IpFamily::kIpv6)
      SetSysctl("net/ipv6/conf/" + bridge.name + "/disable_ipv6", '0');
    host.AddAddress(bridge, gateway);
  }
}

}  // namespace

uint32_t SmallestMtu() {
  RouteSocket host;
  std::optional<uint32_t> smallest;
  for (const std::string& name : LinkNamesIn(Netns::Current())) {
    const auto link = host.FindLink(name);
    if (link && LeadsSomewhere(*link)) smallest = std::min(link->mtu, smallest.value_or(link->mtu));
  }
  return smallest.value_or(kEthernetMtu);
}

Link MakeLocalBridge(const LocalBridge& wanted) {
  RequireNoOverlap(wanted);
  RouteSocket host;
  const Link bridge = FindOrCreate(host, wanted);
  const std::vector<IpNetwork> missing = MissingGateways(host, bridge, wanted);
  const uint32_t mtu = MtuOf(bridge, wanted);
  if (!bridge.up || bridge.mtu != mtu) host.ChangeLink(bridge, {.mtu = mtu, .up = true});
  if (wanted.hairpin == HairpinMode::kPromiscuousBridge) host.SetPromiscuous(bridge);
  AddGateways(host, bridge, missing);
  EnableForwarding(wanted);
  if (!wanted.non_masquerade_cidrs.empty()) {
    ApplyMasquerade({.bridge = wanted.name,
                     .pods = wanted.gateways,
                     .non_masquerade_cidrs = wanted.non_masquerade_cidrs});
  }
  return Find(host, wanted.name);
}

}  // namespace kuryr::binding
