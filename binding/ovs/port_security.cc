#include "binding/ovs/port_security.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/hash.h"
#include "binding/ovs/flow.h"
#include "binding/ovs/openflow.h"

namespace kuryr::binding {
namespace {

/// The upper half of a cookie marks the flow as ours ("kury"), the lower one has a digest of all
/// flows of its port.
constexpr uint64_t kOurs = 0x6b757279'00000000;
constexpr uint64_t kOursMask = 0xffffffff'00000000;

/// Above the flows of others, which see what passes.
constexpr uint16_t kDropRest = 65000;
constexpr uint16_t kPassSource = 65001;
constexpr uint16_t kDropClaims = 65002;
constexpr uint16_t kPassNeighbourDiscovery = 65003;
constexpr uint16_t kDropMalformed = 65004;

constexpr uint16_t kIpv4Type = 0x0800;
constexpr uint16_t kArpType = 0x0806;
constexpr uint16_t kIpv6Type = 0x86dd;
constexpr uint16_t kArpRequest = 1;
/// RFC 3810: a host without an address reports the groups of the one it tries.
constexpr uint8_t kMldv2Report = 143;
/// RFC 1256.
constexpr uint8_t kIcmpRouterAdvertisement = 9;
/// 224.0.0.1, to which a general query of IGMP goes.
constexpr IpAddress kAllHosts = {.family = IpFamily::kIpv4, .bytes = {224, 0, 0, 1}};

IpAddress LinkLocalOf(const MacAddress& mac) {
  const auto& m = mac.bytes;
  return {.family = IpFamily::kIpv6,
          .bytes = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, static_cast<uint8_t>(m[0] ^ 2), m[1], m[2], 0xff,
                    0xfe, m[3], m[4], m[5]}};
}

/// The flows of one port.
class PortFlows {
 public:
  PortFlows(uint32_t number, const PortSecurity& security)
      : port_(FlowMatch().InPort(number).Unpassed()),
        own_(port_.Untagged().Mac(FlowField::kEthernetSource, security.mac)),
        mac_(security.mac) {
    flows_.push_back({.priority = kDropRest, .match = port_});
    bool has_ipv6 = false;
    for (const IpAddress& address : security.addresses) {
      if (address.family == IpFamily::kIpv4) {
        AddIpv4(address);
      } else {
        AddIpv6(address);
        has_ipv6 = true;
      }
    }
    if (!has_ipv6) return;
    AddIpv6(LinkLocalOf(mac_));
    AddNeighbourDiscovery();
  }

  [[nodiscard]] const std::vector<Flow>& flows() const noexcept { return flows_; }
  [[nodiscard]] uint64_t cookie() const {
    uint64_t digest = Hash("");
    for (const Flow& flow : flows_) {
      const auto& fields = flow.match.fields();
      digest = Hash({reinterpret_cast<const char*>(fields.data()), fields.size()},
                    digest ^ flow.priority);
    }
    return kOurs | (digest & ~kOursMask);
  }

 private:
  void Pass(uint16_t priority, const FlowMatch& match) {
    flows_.push_back({.priority = priority, .match = match, .passes = true});
  }
  void Drop(uint16_t priority, const FlowMatch& match) {
    flows_.push_back({.priority = priority, .match = match});
  }
  /// The answers of a DHCP server (RFC 2131, RFC 8415).
  void DropUdp(uint16_t ethernet_type, uint16_t source, uint16_t destination) {
    Drop(kDropClaims, own_.EthernetType(ethernet_type)
                          .Number8(FlowField::kIpProtocol, IPPROTO_UDP)
                          .Number16(FlowField::kUdpSource, source)
                          .Number16(FlowField::kUdpDestination, destination));
  }
  [[nodiscard]] FlowMatch Icmpv6(uint8_t type) const {
    return own_.EthernetType(kIpv6Type)
        .Number8(FlowField::kIpProtocol, IPPROTO_ICMPV6)
        .Number8(FlowField::kIcmpv6Type, type);
  }
  /// What only routers send: redirects, and a querier's word to all hosts. Open vSwitch reads no
  /// types of IGMP, and a query of one group goes where a report of it does.
  void DropRouters() {
    const FlowMatch ipv4 = own_.EthernetType(kIpv4Type);
    for (const uint8_t type : {uint8_t{ICMP_REDIRECT}, kIcmpRouterAdvertisement})
      Drop(
          kDropClaims,
          ipv4.Number8(FlowField::kIpProtocol, IPPROTO_ICMP).Number8(FlowField::kIcmpv4Type, type));
    Drop(kDropClaims, ipv4.Number8(FlowField::kIpProtocol, IPPROTO_IGMP)
                          .Ip(FlowField::kIpv4Destination, kAllHosts));
  }
  /// From no address (::).
  [[nodiscard]] FlowMatch Unspecified(uint8_t type) const {
    return Icmpv6(type).Ip(FlowField::kIpv6Source, {.family = IpFamily::kIpv6});
  }

  void AddIpv4(const IpAddress& address) {
    const FlowMatch arp = own_.EthernetType(kArpType).Mac(FlowField::kArpSenderMac, mac_);
    Pass(kPassSource, own_.EthernetType(kIpv4Type).Ip(FlowField::kIpv4Source, address));
    Pass(kPassSource, arp.Ip(FlowField::kArpSenderIp, address));
    if (has_probe_) return;
    DropUdp(kIpv4Type, 67, 68);
    DropRouters();
    // A probe of RFC 5227 claims nothing yet.
    Pass(kPassSource,
         arp.Number16(FlowField::kArpOperation, kArpRequest).Ip(FlowField::kArpSenderIp, {}));
    has_probe_ = true;
  }

  void AddIpv6(const IpAddress& address) {
    constexpr MacAddress kNone;
    Pass(kPassSource, own_.EthernetType(kIpv6Type).Ip(FlowField::kIpv6Source, address));
    const FlowMatch solicit = Icmpv6(ND_NEIGHBOR_SOLICIT).Ip(FlowField::kIpv6Source, address);
    const FlowMatch advert = Icmpv6(ND_NEIGHBOR_ADVERT)
                                 .Ip(FlowField::kIpv6Source, address)
                                 .Ip(FlowField::kNdTarget, address);
    for (const MacAddress& said : {mac_, kNone}) {
      Pass(kPassNeighbourDiscovery, solicit.Mac(FlowField::kNdSourceMac, said));
      Pass(kPassNeighbourDiscovery, advert.Mac(FlowField::kNdTargetMac, said));
    }
    // Duplicate address detection of an own address.
    Pass(kPassNeighbourDiscovery, Unspecified(ND_NEIGHBOR_SOLICIT)
                                      .Ip(FlowField::kNdTarget, address)
                                      .Mac(FlowField::kNdSourceMac, kNone));
  }

  void AddNeighbourDiscovery() {
    DropUdp(kIpv6Type, 547, 546);
    for (const int type : {MLD_LISTENER_QUERY, ND_ROUTER_ADVERT, ND_NEIGHBOR_SOLICIT,
                           ND_NEIGHBOR_ADVERT, ND_REDIRECT})
      Drop(kDropClaims, Icmpv6(static_cast<uint8_t>(type)));
    // Open vSwitch reads no fields of a solicitation with an option twice: its MAC is unknown.
    Drop(kDropMalformed,
         Icmpv6(ND_NEIGHBOR_SOLICIT).Ip(FlowField::kNdTarget, {.family = IpFamily::kIpv6}));
    Pass(kPassSource, Unspecified(kMldv2Report));
  }

  const FlowMatch port_;
  const FlowMatch own_;
  const MacAddress mac_;
  bool has_probe_ = false;
  std::vector<Flow> flows_;
};

}  // namespace

void SecurePort(OpenFlow& bridge, uint32_t number, const PortSecurity& security,
                const Deadline& deadline) {
  const PortFlows wanted(number, security);
  const uint64_t cookie = wanted.cookie();
  bridge.Add(cookie, wanted.flows().front());
  // Earlier flows of the number, but for the one that drops: all others name tags.
  bridge.Delete(kOurs, kOursMask, FlowMatch().InPort(number).Untagged());
  for (const Flow& flow : wanted.flows()) bridge.Add(cookie, flow);
  bridge.Finish(deadline);
}

bool IsPortSecured(OpenFlow& bridge, uint32_t number, const PortSecurity& security,
                   const Deadline& deadline) {
  const PortFlows wanted(number, security);
  const FlowMatch port = FlowMatch().InPort(number);
  return bridge.Count(wanted.cookie(), UINT64_MAX, port, deadline) == wanted.flows().size() &&
         bridge.Count(kOurs, kOursMask, port, deadline) == wanted.flows().size();
}

void UnsecurePort(OpenFlow& bridge, uint32_t number, const Deadline& deadline) {
  bridge.Delete(kOurs, kOursMask, FlowMatch().InPort(number));
  bridge.Send(deadline);
}

size_t RemoveStrayFlows(OpenFlow& bridge, const std::function<std::set<uint32_t>()>& find_secured,
                        const Deadline& deadline) {
  const auto listed = bridge.List(kOurs, kOursMask, deadline);
  const std::set<PresentFlow> flows(listed.begin(), listed.end());
  const std::set<uint32_t> secured = find_secured();
  size_t removed = 0;
  for (const PresentFlow& flow : flows) {
    if (secured.contains(flow.in_port)) continue;
    bridge.Delete(flow.cookie, UINT64_MAX, FlowMatch().InPort(flow.in_port));
    ++removed;
  }
  if (removed != 0) bridge.Finish(deadline);
  return removed;
}

}  // namespace kuryr::binding
