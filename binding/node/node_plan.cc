#include "binding/node/node_plan.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

#include "base/error.h"
#include "binding/plan/allowed.h"
#include "binding/plan/vif_fields.h"

namespace kuryr::binding {
namespace {

/// The shortest prefix of a network of pods: 10.0.0.0/8 is the largest private one.
constexpr uint8_t kWidest = 8;

bool Collide(const IpNetwork& a, const IpNetwork& b) {
  return a.address.family == b.address.family && (a.Contains(b.address) || b.Contains(a.address));
}

bool OverlapsAny(const IpNetwork& network, const std::vector<IpNetwork>& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const IpNetwork& other) { return Collide(network, other); });
}

/// Why no network of pods can be this one; empty where it can.
std::string WhyImpossible(const IpNetwork& network) {
  constexpr std::array kReserved = {"127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4",
                                    "::/128",      "::1/128",        "fe80::/10",   "ff00::/8"};
  if (network.prefix_length < kWidest) return "is wider than /" + std::to_string(kWidest);
  for (const char* reserved : kReserved) {
    if (Collide(network, IpNetwork::Parse(reserved).value()))
      return std::string("overlaps ") + reserved;
  }
  return "";
}

/// `network` and `others` have no host bits, and the others do not overlap each other.
bool OverlapsAny(const IpNetwork& network, const std::set<IpNetwork>& others) {
  const auto next = others.lower_bound(network);
  return (next != others.end() && Collide(network, *next)) ||
         (next != others.begin() && Collide(network, *std::prev(next)));
}

template <typename Key>
uint64_t SinceOf(const std::map<Key, uint64_t>& since, const Key& key) {
  const auto known = since.find(key);
  return known == since.end() ? 0 : known->second;
}

/// An InternalIP, and who was the first to say so.
struct NodeAddress {
  std::string node;
  uint64_t since = 0;
};

std::map<IpAddress, NodeAddress> AddressesOfNodes(const NodePlan& plan) {
  std::map<IpAddress, NodeAddress> all;
  for (const IpAddress& own : plan.addresses) all.emplace(own, NodeAddress{.node = plan.name});
  for (const OtherNode& node : plan.others) {
    for (const IpAddress& address : node.addresses) {
      const NodeAddress said = {node.name, SinceOf(node.addresses_since, address)};
      const auto [known, is_new] = all.emplace(address, said);
      if (!is_new && said.since < known->second.since) known->second = said;
    }
  }
  return all;
}

std::optional<IpAddress> FirstOf(IpFamily family, const std::vector<IpAddress>& addresses) {
  for (const IpAddress& address : addresses)
    if (address.family == family) return address;
  return std::nullopt;
}

/// Decides on the networks of nodes, one after the other.
class Judge {
 public:
  explicit Judge(const NodePlan& plan)
      : plan_(plan), own_(plan.port.Networks()), nodes_(AddressesOfNodes(plan)) {}

  [[nodiscard]] RemoteNetwork Decide(const OtherNode& node, const IpNetwork& network) {
    RemoteNetwork remote{.node = node.name, .network = network.Masked()};
    remote.is_shared = std::find(own_.begin(), own_.end(), remote.network) != own_.end();
    if (remote.is_shared) return remote;
    remote.refused = WhyRefused(remote.network);
    Compare(remote, SinceOf(node.networks_since, network));
    if (!remote.refused.empty()) return remote;
    accepted_.insert(remote.network);
    const IpFamily family = network.address.family;
    const auto gateway = plan_.port.GatewayOf(family);
    remote.is_joined = gateway.has_value();
    remote.via = gateway ? gateway : FirstOf(family, node.addresses);
    return remote;
  }

 private:
  [[nodiscard]] std::string WhyRefused(const IpNetwork& network) const {
    if (std::string why = WhyImpossible(network); !why.empty()) return why;
    if (OverlapsAny(network, own_)) return "overlaps the network of this node's pods";
    if (OverlapsAny(network, plan_.options.service_cidrs)) return "overlaps the Services";
    if (OverlapsAny(network, accepted_)) return "overlaps the network of another node's pods";
    return "";
  }

  /// With the InternalIPs in the network, which is there since then.
  void Compare(RemoteNetwork& remote, uint64_t since) const {
    if (!remote.refused.empty()) return;
    for (auto said = nodes_.lower_bound(remote.network.address);
         said != nodes_.end() && remote.network.Contains(said->first); ++said) {
      const std::string what =
          "the InternalIP of " + Printable(said->second.node) + ", " + said->first.ToString() + ",";
      if (said->second.since <= since) {
        remote.refused = "has " + what + " in it";
        return;
      }
      if (remote.ignored.empty())
        remote.ignored = what + " is ignored: it came when the network was there";
    }
  }

  const NodePlan& plan_;
  const std::vector<IpNetwork> own_;
  const std::map<IpAddress, NodeAddress> nodes_;
  std::set<IpNetwork> accepted_;
};

MacAddress MacOf(const vif::VifBase& vif) {
  const MacAddress mac = vif::Required(vif.address, "$.address");
  if (!mac.IsUnicast()) throw ParseError("$.address", "is " + mac.ToString() + ", not unicast");
  return mac;
}

std::string InterfaceIdOf(const vif::VifBase& vif) {
  if (vif.port_profile.has_value()) {
    const auto* profile = std::get_if<vif::PortProfileOpenVSwitch>(&*vif.port_profile);
    if (profile != nullptr && profile->interface_id.has_value()) return *profile->interface_id;
  }
  return vif::Required(vif.id, "$.id");
}

std::vector<IpNetwork> OwnAddressesOf(const vif::VifBase& vif) {
  std::vector<IpNetwork> addresses = vif::AddressesOf(vif);
  if (addresses.empty()) throw ParseError("$.network.subnets", "have no address");
  for (const IpNetwork& address : addresses) {
    if (const std::string why = WhyImpossible(address); !why.empty())
      throw ParseError("$.network.subnets", "have " + address.ToString() + ", which " + why);
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

/// The gateways of the subnets, beside the port's own addresses, that are on its link.
std::vector<IpAddress> RoutersOf(const vif::VifBase& vif, const std::vector<IpNetwork>& addresses) {
  std::vector<IpAddress> routers;
  for (const vif::Subnet& subnet : *vif.network->subnets) {
    if (!subnet.gateway.has_value()) continue;
    const IpAddress& gateway = *subnet.gateway;
    const auto is_own = [&](const IpNetwork& own) { return own.address == gateway; };
    const auto has = [&](const IpNetwork& own) { return own.Contains(gateway); };
    if (std::any_of(addresses.begin(), addresses.end(), has) &&
        std::none_of(addresses.begin(), addresses.end(), is_own))
      routers.push_back(gateway);
  }
  return routers;
}

void RequireMtuFor(const ManagementPort& port) {
  const bool has_ipv6 = std::any_of(
      port.addresses.begin(), port.addresses.end(),
      [](const IpNetwork& address) { return address.address.family == IpFamily::kIpv6; });
  if (port.mtu && has_ipv6 && *port.mtu < kLeastIpv6Mtu)
    throw ParseError("$.network.mtu", "is " + std::to_string(*port.mtu) + ", too small for IPv6");
}

}  // namespace

std::vector<IpNetwork> ManagementPort::Networks() const {
  std::vector<IpNetwork> networks;
  networks.reserve(addresses.size());
  for (const IpNetwork& address : addresses) networks.push_back(address.Masked());
  return networks;
}

std::optional<IpAddress> ManagementPort::GatewayOf(IpFamily family) const {
  return FirstOf(family, gateways);
}

ManagementPort PlanManagementPort(const vif::PodVif& vif, const BindingConfig& config) {
  const auto& own = OwnVif<vif::VifOpenVSwitch>(vif.vif, "of the management port");
  ManagementPort port{.name = vif.ifname,
                      .bridge = BridgeOf(own.bridge_name, own),
                      .mac = MacOf(own),
                      .mtu = vif::MtuOf(own),
                      .interface_id = InterfaceIdOf(own),
                      .addresses = OwnAddressesOf(own)};
  port.gateways = RoutersOf(own, port.addresses);
  if (port.mtu && config.network_device_mtu != 0)
    port.mtu = std::min(*port.mtu, config.network_device_mtu);
  RequireMtuFor(port);
  RequireAllowedBridge(config, port.bridge, BridgeKind::kOpenVSwitch);
  return port;
}

bool NodePlan::operator==(const NodePlan& other) const {
  return machine == other.machine && port == other.port && addresses == other.addresses &&
         others == other.others;
}

std::vector<RemoteNetwork> RemoteNetworksOf(const NodePlan& plan) {
  struct Claim {
    const OtherNode* node;
    const IpNetwork* network;
  };
  std::multimap<uint64_t, Claim> claims;  // by age
  for (const OtherNode& node : plan.others) {
    for (const IpNetwork& network : node.networks)
      claims.emplace(SinceOf(node.networks_since, network), Claim{&node, &network});
  }
  Judge judge(plan);
  std::vector<RemoteNetwork> all;
  all.reserve(claims.size());
  for (const auto& [since, claim] : claims)
    all.push_back(judge.Decide(*claim.node, *claim.network));
  return all;
}

}  // namespace kuryr::binding
