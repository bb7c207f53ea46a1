#include "controller/backends/neutron/client/decode.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/names.h"
#include "controller/backends/neutron/client/answer_object.h"

namespace kuryr::controller::neutron {
namespace {

using nlohmann::json;
using vif::Path;

constexpr const char* kAddress = "an IP address";
constexpr int64_t kMostMtu = 65535;
constexpr int64_t kMostVlan = 4094;

json Parse(std::string_view body) { return ParseJson(body, {.max_bytes = size_t{16} << 20}); }

const std::string& Root() {
  static const std::string kRoot = "$";
  return kRoot;
}

/// Decodes the one member that a body has.
template <typename Decode>
auto Member(std::string_view body, const char* key, Decode decode) {
  const json document = Parse(body);
  const Path root(Root());
  const AnswerObject object(document, root);
  if (object.Find(key) == nullptr) object.RefuseMissing(key, "an object");
  return decode(*object.Find(key), Path(root, key));
}

IpAddress AddressOf(const json& value, const Path& path) {
  return AnswerObject::ParsedText<IpAddress>(value, path, kAddress);
}

HostRoute RouteOf(const json& value, const Path& path) {
  const AnswerObject route(value, path);
  return {.destination = route.Required<IpNetwork>("destination", "ADDRESS/LENGTH"),
          .next_hop = route.Required<IpAddress>("nexthop", kAddress)};
}

AddressRange RangeOf(const json& value, const Path& path) {
  const AnswerObject range(value, path);
  return {.first = range.Required<IpAddress>("start", kAddress),
          .last = range.Required<IpAddress>("end", kAddress)};
}

Subnet SubnetOf(const json& value, const Path& path) {
  const AnswerObject object(value, path);
  const std::string mode = object.Text("ipv6_address_mode");
  Subnet subnet{.id = object.Id("id"),
                .name = object.Text("name"),
                .network_id = object.Id("network_id"),
                .cidr = object.Required<IpNetwork>("cidr", "ADDRESS/LENGTH"),
                .gateway = object.Parsed<IpAddress>("gateway_ip", kAddress),
                .dns = object.List("dns_nameservers", AddressOf),
                .host_routes = object.List("host_routes", RouteOf),
                .allocation_pools = object.List("allocation_pools", RangeOf),
                .pool_id = object.Text("subnetpool_id"),
                .tags = object.Texts("tags"),
                .is_slaac = mode == "slaac" || mode == "dhcpv6-stateless"};
  if (subnet.gateway && subnet.gateway->family != subnet.cidr.address.family)
    Path(path, "gateway_ip").Refuse(value["gateway_ip"], "an address of cidr's family");
  return subnet;
}

Network NetworkOf(const json& value, const Path& path) {
  const AnswerObject object(value, path);
  Network network{.id = object.Id("id"),
                  .name = object.Text("name"),
                  .mtu = static_cast<uint32_t>(object.Number("mtu", 0, kMostMtu)),
                  .description = object.Text("description"),
                  .subnet_ids = object.Texts("subnets"),
                  .tags = object.Texts("tags")};
  if (object.Text("provider:network_type") == "vlan" &&
      object.Find("provider:segmentation_id") != nullptr) {
    network.vlan = static_cast<uint16_t>(object.Number("provider:segmentation_id", 1, kMostVlan));
  }
  return network;
}

FixedIp FixedIpOf(const json& value, const Path& path) {
  const AnswerObject object(value, path);
  return {.subnet_id = object.Id("subnet_id"),
          .address = object.Required<IpAddress>("ip_address", kAddress)};
}

/// A bridge's name becomes a command's argument on the node.
std::string BridgeOf(const AnswerObject& details) {
  std::string name = details.Text("bridge_name");
  if (!name.empty() && !IsLinkName(name))
    Path(details.path(), "bridge_name").Refuse(*details.Find("bridge_name"), kLinkNameRule);
  return name;
}

VifDetails DetailsOf(const json& value, const Path& path) {
  const AnswerObject details(value, path);
  return {.port_filter = details.Flag("port_filter"),
          .ovs_hybrid_plug = details.Flag("ovs_hybrid_plug"),
          .bridge_name = BridgeOf(details),
          .datapath_type = details.Text("datapath_type"),
          .vhostuser_mode = details.Text("vhostuser_mode"),
          .vhostuser_socket = details.Text("vhostuser_socket"),
          .vhostuser_ovs_plug = details.Flag("vhostuser_ovs_plug")};
}

bool HasItems(const AnswerObject& object, const char* key) {
  const json* list = object.Find(key);
  return list != nullptr && !list->empty();
}

Port PortOf(const json& value, const Path& path) {
  const AnswerObject object(value, path);
  Port port{.id = object.Id("id"),
            .name = object.Text("name"),
            .description = object.Text("description"),
            .network_id = object.Id("network_id"),
            .device_id = object.Text("device_id"),
            .device_owner = object.Text("device_owner"),
            .host_id = object.Text("binding:host_id"),
            .mac = object.Required<MacAddress>("mac_address", "a MAC address"),
            .fixed_ips = object.List("fixed_ips", FixedIpOf),
            .active = object.Text("status") == "ACTIVE",
            .vif_type = object.Text("binding:vif_type"),
            .vnic_type = object.Text("binding:vnic_type"),
            .tags = object.Texts("tags"),
            .security_groups = object.Texts("security_groups"),
            .has_address_pairs = HasItems(object, "allowed_address_pairs"),
            .revision = object.Number("revision_number", 0, INT64_MAX)};
  if (const json* details = object.Find("binding:vif_details"))
    port.vif_details = DetailsOf(*details, Path(path, "binding:vif_details"));
  return port;
}

SubPort SubPortOf(const json& value, const Path& path) {
  const AnswerObject object(value, path);
  const bool is_vlan = object.Text("segmentation_type") == "vlan";
  return {
      .port_id = object.Id("port_id"),
      .vlan = static_cast<uint16_t>(is_vlan ? object.Number("segmentation_id", 1, kMostVlan) : 0)};
}

AddressPair AddressPairOf(const json& value, const Path& path) {
  const AnswerObject object(value, path);
  return {.network = object.Required<IpNetwork>("ip_address", "ADDRESS or ADDRESS/LENGTH"),
          .mac = object.Parsed<MacAddress>("mac_address", "a MAC address")};
}

NodePort NodePortOf(const json& value, const Path& path) {
  const AnswerObject object(value, path);
  NodePort port{.id = object.Id("id"),
                .fixed_ips = object.List("fixed_ips", FixedIpOf),
                .address_pairs = object.List("allowed_address_pairs", AddressPairOf),
                .revision = object.Number("revision_number", 0, INT64_MAX)};
  if (const json* details = object.Find("trunk_details")) {
    const Path trunk_path(path, "trunk_details");
    const AnswerObject trunk(*details, trunk_path);
    port.trunk_id = trunk.Text("trunk_id");
    port.sub_ports = trunk.List("sub_ports", SubPortOf);
  }
  return port;
}

SubnetPool SubnetPoolOf(const json& value, const Path& path) {
  const AnswerObject object(value, path);
  constexpr int64_t kSix = 6;
  return {
      .id = object.Id("id"),
      .family = object.Number("ip_version", 4, kSix) == kSix ? IpFamily::kIpv6 : IpFamily::kIpv4};
}

/// A rule with fields that SecurityRule lacks must equal no wanted rule. So its protocol becomes
/// one that no wanted rule has.
ListedRule SecurityRuleOf(const json& value, const Path& path) {
  constexpr int64_t kMostPort = 65535;
  const AnswerObject object(value, path);
  ListedRule listed{.id = object.Id("id")};
  SecurityRule& rule = listed.rule;
  rule.is_ingress = object.Text("direction") == "ingress";
  rule.family = object.Text("ethertype") == "IPv6" ? IpFamily::kIpv6 : IpFamily::kIpv4;
  rule.protocol = object.Text("protocol");
  rule.first_port = static_cast<uint16_t>(object.Number("port_range_min", 0, kMostPort));
  rule.last_port = static_cast<uint16_t>(object.Number("port_range_max", 0, kMostPort));
  rule.remote_group = object.Text("remote_group_id");
  rule.remote_net = object.Parsed<IpNetwork>("remote_ip_prefix", "ADDRESS/LENGTH");
  if (object.Find("remote_address_group_id") != nullptr) rule.protocol = "of an address group";
  return listed;
}

SecurityGroup SecurityGroupOf(const json& value, const Path& path) {
  const AnswerObject object(value, path);
  return {.id = object.Id("id"),
          .name = object.Text("name"),
          .description = object.Text("description"),
          .tags = object.Texts("tags"),
          .rules = object.List("security_group_rules", SecurityRuleOf)};
}

/// Decodes the elements of the list `key`.
template <typename Decode>
auto PageOf(std::string_view body, const std::string& key, Decode decode) {
  const json document = Parse(body);
  const Path root(Root());
  const AnswerObject object(document, root);
  const auto rels = object.List((key + "_links").c_str(), [](const json& link, const Path& path) {
    return AnswerObject(link, path).Text("rel");
  });
  auto items = object.RequiredList(key.c_str(), decode);
  return Page<typename decltype(items)::value_type>{
      .items = std::move(items),
      .has_next = std::find(rels.begin(), rels.end(), "next") != rels.end()};
}

}  // namespace

Network DecodeNetwork(std::string_view body) { return Member(body, "network", NetworkOf); }

Subnet DecodeSubnet(std::string_view body) { return Member(body, "subnet", SubnetOf); }

std::vector<Subnet> DecodeSubnets(std::string_view body) {
  const json document = Parse(body);
  const Path root(Root());
  return AnswerObject(document, root).RequiredList("subnets", SubnetOf);
}

Port DecodePort(std::string_view body) { return Member(body, "port", PortOf); }

Page<Port> DecodePorts(std::string_view body) { return PageOf(body, "ports", PortOf); }

Page<NodePort> DecodeNodePorts(std::string_view body) { return PageOf(body, "ports", NodePortOf); }

Page<Network> DecodeNetworks(std::string_view body) { return PageOf(body, "networks", NetworkOf); }

SubnetPool DecodeSubnetPool(std::string_view body) {
  return Member(body, "subnetpool", SubnetPoolOf);
}

SecurityGroup DecodeSecurityGroup(std::string_view body) {
  return Member(body, "security_group", SecurityGroupOf);
}

Page<SecurityGroup> DecodeSecurityGroups(std::string_view body) {
  return PageOf(body, "security_groups", SecurityGroupOf);
}

std::vector<ListedRule> DecodeSecurityRules(std::string_view body) {
  return PageOf(body, "security_group_rules", SecurityRuleOf).items;
}

PortQuota DecodePortQuota(std::string_view body) {
  return Member(body, "quota", [](const json& value, const Path& path) {
    const AnswerObject quota(value, path);
    if (quota.Find("port") == nullptr) quota.RefuseMissing("port", "an object");
    const Path port_path(path, "port");
    const AnswerObject port(*quota.Find("port"), port_path);
    return PortQuota{.limit = port.Number("limit", -1, INT64_MAX),
                     .used = port.Number("used", 0, INT64_MAX),
                     .reserved = port.Number("reserved", 0, INT64_MAX)};
  });
}

std::vector<std::string> DecodePortIds(std::string_view body) {
  const json document = Parse(body);
  const Path root(Root());
  return AnswerObject(document, root).RequiredList("ports", [](const json& port, const Path& path) {
    return AnswerObject(port, path).Id("id");
  });
}

bool HasExtension(std::string_view body, const std::string& alias) {
  const json document = Parse(body);
  const Path root(Root());
  const auto aliases = AnswerObject(document, root)
                           .RequiredList("extensions", [](const json& one, const Path& path) {
                             return AnswerObject(one, path).Text("alias");
                           });
  return std::find(aliases.begin(), aliases.end(), alias) != aliases.end();
}

}  // namespace kuryr::controller::neutron
