#include "binding/node/local_bridge.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <system_error>

#include "base/error.h"
#include "base/hash.h"
#include "binding/links/host_link.h"
#include "binding/links/interfaces.h"
#include "binding/links/link_mark.h"
#include "binding/netlink/sysctl.h"
#include "binding/node/forwarding.h"
#include "binding/node/masquerade.h"
#include "binding/plan/vif_fields.h"

namespace kuryr::binding {
namespace {

/// 0a:58 and the name's hash. A bridge without a MAC of its own takes a port's, and pods would lose
/// their gateway with that port.
MacAddress BirthMac(const std::string& bridge) {
  MacAddress mac{.bytes = {0x0a, 0x58}};
  uint64_t hash = Hash(bridge);
  for (size_t i = 2; i < mac.bytes.size(); ++i, hash >>= 8)
    mac.bytes[i] = static_cast<uint8_t>(hash);
  return mac;
}

/// 0a:58 and the gateway's last four bytes, as kubenet's: other nodes' bridges of this name have
/// other ones.
MacAddress MacFor(const IpAddress& gateway) {
  MacAddress mac{.bytes = {0x0a, 0x58}};
  const auto* end = gateway.bytes.begin() + gateway.size();
  std::copy(end - 4, end, mac.bytes.begin() + 2);
  return mac;
}

Link FindOrCreate(RouteSocket& host, const LocalBridge& wanted) {
  auto link = host.FindLink(wanted.name);
  if (!link) {
    // False: another ADD was faster.
    (void)host.CreateBridgeDown(wanted.name, BirthMac(wanted.name));
    link = Find(host, wanted.name);
  }
  if (link->kind != "bridge")
    ThrowErrno(EINVAL, "use " + wanted.name + " as bridge: its kind is \"" + link->kind + "\"");
  // Down and without addresses: its maker is not done with it, or was killed.
  const bool is_unfinished = !link->up && host.AddressesOf(*link).empty();
  if (is_unfinished) DisableIpv6(wanted.name);
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

/// The gateways that the bridge, which has the addresses `present`, does not have yet.
std::vector<IpNetwork> MissingGateways(const Link& bridge, const LocalBridge& wanted,
                                       std::span<const IpNetwork> present) {
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
    if (gateway.address.family == IpFamily::kIpv4) {
      ForwardIpv4();
    } else {
      ForwardIpv6();
    }
  }
}

/// Tries twice: another ADD that found the bridge unfinished may switch IPv6 off in between.
void AddIpv6Gateway(RouteSocket& host, const Link& bridge, const IpNetwork& gateway) {
  const auto add = [&] {
    // The bridge was made without, or the node's links have none by default.
    SetSysctl("net/ipv6/conf/" + bridge.name + "/disable_ipv6", '0');
    host.AddAddress(bridge, gateway);
  };
  try {
    add();
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::permission_denied) throw;
    add();
  }
}

void AddGateways(RouteSocket& host, const Link& bridge, const std::vector<IpNetwork>& gateways) {
  for (const IpNetwork& gateway : gateways) {
    if (gateway.address.family == IpFamily::kIpv6) {
      AddIpv6Gateway(host, bridge, gateway);
    } else {
      host.AddAddress(bridge, gateway);
    }
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

void MakeLocalBridge(const LocalBridge& wanted) {
  RouteSocket host;
  const Link bridge = FindOrCreate(host, wanted);
  const uint32_t mtu = MtuOf(bridge, wanted);
  if (!bridge.up || bridge.mtu != mtu) host.ChangeLink(bridge, {.mtu = mtu, .up = true});
  if (wanted.hairpin == HairpinMode::kPromiscuousBridge) host.SetPromiscuous(bridge);
}

void GiveGateways(const LocalBridge& wanted) {
  RequireNoOverlap(wanted);
  RouteSocket host;
  const Link bridge = Find(host, wanted.name);
  const std::vector<IpNetwork> present = host.AddressesOf(bridge);
  const std::vector<IpNetwork> missing = MissingGateways(bridge, wanted, present);
  if (present.empty() && !missing.empty() && bridge.mac == BirthMac(bridge.name))
    host.ChangeLink(bridge, {.mac = MacFor(missing.front().address)});
  AddGateways(host, bridge, missing);
  EnableForwarding(wanted);
  if (!wanted.non_masquerade_cidrs.empty()) {
    ApplyMasquerade({.bridge = wanted.name,
                     .pods = wanted.gateways,
                     .non_masquerade_cidrs = wanted.non_masquerade_cidrs});
  }
}

}  // namespace kuryr::binding
