#include "controller/backends/ovn/topology.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.h"
#include "controller/backends/ovn/admin_ladder.h"
#include "controller/backends/ovn/load_balancers.h"
#include "controller/backends/ovn/northbound/schema.h"
#include "controller/backends/pools/pool_vif.h"

namespace kuryr::controller::ovn {
namespace {

/// "MAC ADDRESS...", as addresses and port_security have it.
std::string AddressesText(const vif::VifBase& vif) {
  std::string text = vif.address.value_or(MacAddress()).ToString();
  for (const IpNetwork& address : vif::AddressesOf(vif)) text += " " + address.address.ToString();
  return text;
}

std::string NetworkOf(const vif::VifBase& vif) {
  return vif.network.has_value() ? vif.network->id.value_or("") : "";
}

/// The ACL that lets a node reach the pods of its switch `on`, by its management port: no policy
/// keeps the kubelet from its pods. An address alone would be any node's to forge. The ACL is
/// stateless where no policy's ACL is on the switch.
WantedRow NodeAccessRow(const std::string& on, const vif::VifBase& vif) {
  std::string sources;
  for (const IpNetwork& each : vif::AddressesOf(vif)) {
    const char* field = each.address.family == IpFamily::kIpv4 ? "ip4.src == " : "ip6.src == ";
    sources.append(sources.empty() ? "" : " || ").append(field).append(each.address.ToString());
  }
  return {.key = {kAcl, on},
          .values = {{"direction", "to-lport"},
                     {"match", "inport == \"" + vif.id.value_or("") + "\" && eth.src == " +
                                   vif.address.value_or(MacAddress()).ToString() + " && (" +
                                   sources + ")"},
                     {"priority", kNodePriority},
                     {"action", "allow"}},
          .places = {{{kSwitch, on}, "acls"}}};
}

/// Redirects, answers of DHCP servers, and a querier's words to all hosts. ovn-northd(8) lets
/// router advertisements and MLD pass before it looks at any ACL. Policies look at what pods send
/// in another stage (apply-after-lb), so no priority meets theirs.
WantedRow ServersRow(const std::string& on) {
  return {.key = {kAcl, on + "/servers"},
          .values = {{"direction", "from-lport"},
                     {"match",
                      "icmp4.type == {5, 9} || icmp6.type == 137 || (udp.src == 67 && udp.dst == "
                      "68) || (udp.src == 547 && udp.dst == 546) || (igmp && ip4.dst == "
                      "224.0.0.1)"},
                     {"priority", kNodePriority},
                     {"action", "drop"}},
          .places = {{{kSwitch, on}, "acls"}}};
}

bool HasAddressIn(const vif::VifBase& vif, const vif::Subnet& subnet) {
  return !vif::FixedIpsOf(vif, subnet).empty();
}

}  // namespace

MacAddress MacOfGateway(const IpAddress& gateway) {
  MacAddress mac{.bytes = {0x0a, 0x58}};
  uint64_t digest = Hash("gateway/" + gateway.ToString());
  for (size_t i = 2; i < mac.bytes.size(); ++i, digest >>= 8)
    mac.bytes.at(i) = static_cast<uint8_t>(digest);
  return mac;
}

RowKey NodeSwitch(const std::string& node) { return {kSwitch, "node/" + node}; }

Topology::Topology(const OvnOptions& options)
    : cluster_(options.cluster), balances_services_(options.balances_services) {
  for (const pools::Pool& pool : options.pools) {
    const std::string network = pools::NetworkIdOf(pool.name);
    if (!pool.from_node) shared_pools_.emplace(network, pool.name);
    if (!pool.port_security.value_or(true)) free_networks_.insert(network);
  }
}

WantedRow Topology::SwitchRow(const std::string& name) const {
  WantedRow row = {.key = {kSwitch, name}, .values = {{"name", cluster_ + "/" + name}}};
  if (balances_services_) row.links = {{"load_balancer_group", ServiceGroup()}};
  return row;
}

void Topology::AddSwitch(const std::string& name, bool is_free,
                         std::vector<WantedRow>& rows) const {
  rows.push_back(SwitchRow(name));
  if (!is_free) rows.push_back(ServersRow(name));
}

WantedRow Topology::RouterRow(const std::string& uid) const {
  // It knows the address of each port. What it learns by a pod's announcement is a row, and flows
  // on all nodes, once more.
  WantedRow row = {.key = {kRouter, "router"},
                   .values = {{"name", cluster_}},
                   .maps = {{"options", {{"always_learn_from_arp_request", "false"}}}}};
  if (!uid.empty()) row.maps["external_ids"][kClusterUid] = uid;
  return row;
}

std::vector<WantedRow> Topology::SharedRows() const {
  std::vector<WantedRow> rows = {RouterRow("")};
  if (balances_services_) rows.push_back(ServiceGroupRow(cluster_));
  for (const auto& [network, pool] : shared_pools_)
    AddSwitch("pool/" + pool, free_networks_.contains(network), rows);
  return rows;
}

std::vector<RowKey> Topology::SharedSwitches() const {
  std::vector<RowKey> keys;
  keys.reserve(shared_pools_.size());
  for (const auto& [network, pool] : shared_pools_) keys.push_back({kSwitch, "pool/" + pool});
  return keys;
}

std::string Topology::SwitchOf(const Owner& owner, const vif::VifBase& vif) const {
  const auto pool = shared_pools_.find(NetworkOf(vif));
  return pool == shared_pools_.end() ? "node/" + owner.node : "pool/" + pool->second;
}

WantedRow Topology::PortRow(const Owner& owner, const vif::VifBase& vif,
                            const std::string& on) const {
  const std::string id = vif.id.value_or("");
  WantedRow row = {
      .key = {kSwitchPort, id},
      .values = {{"name", id}},
      .maps = {{"options", {{"requested-chassis", owner.node}}},
               {"external_ids",
                {{"kuryr-owner", owner.id},
                 {"kuryr-name", owner.is_node() ? owner.name : owner.scope + "/" + owner.name}}}},
      .sets = {{"addresses", {AddressesText(vif)}}},
      .places = {{{kSwitch, on}, "ports"}}};
  std::set<std::string>& sources = row.sets["port_security"];
  if (owner.is_node()) {
    // It sends what it routes and translates, from any address.
    sources = {vif.address.value_or(MacAddress()).ToString()};
  } else if (!free_networks_.contains(NetworkOf(vif))) {
    sources = row.sets["addresses"];
  }
  return row;
}

void Topology::AddNodeRows(const vif::VifBase& vif, const std::string& on,
                           std::vector<WantedRow>& rows) const {
  const std::string port = cluster_ + "/" + on;
  WantedRow gateway = {.key = {kRouterPort, on},
                       .values = {{"name", port}},
                       .places = {{{kRouter, "router"}, "ports"}}};
  for (const vif::Subnet& subnet : *vif.network->subnets) {
    if (!subnet.cidr.has_value() || !subnet.gateway.has_value() || !HasAddressIn(vif, subnet))
      continue;
    const IpNetwork network = {*subnet.gateway, subnet.cidr->prefix_length};
    gateway.sets["networks"].insert(network.ToString());
    if (!gateway.values.contains("mac"))
      gateway.values["mac"] = MacOfGateway(*subnet.gateway).ToString();
    const bool is_ipv4 = subnet.gateway->family == IpFamily::kIpv4;
    rows.push_back({.key = {kStaticRoute, on + (is_ipv4 ? "/ipv4" : "/ipv6")},
                    .values = {{"ip_prefix", subnet.cidr->Masked().ToString()},
                               {"nexthop", vif::FixedIpsOf(vif, subnet).front().address.ToString()},
                               {"policy", "src-ip"}},
                    .places = {{{kRouter, "router"}, "static_routes"}}});
  }
  if (gateway.sets.empty()) return;
  rows.push_back(std::move(gateway));
  rows.push_back(NodeAccessRow(on, vif));
  rows.push_back({.key = {kSwitchPort, on + "/router"},
                  .values = {{"name", port + "/router"}, {"type", "router"}},
                  .maps = {{"options", {{"router-port", port}}}},
                  .sets = {{"addresses", {"router"}}},
                  .places = {{{kSwitch, on}, "ports"}}});
}

std::vector<WantedRow> Topology::RowsOf(const Owner& owner,
                                        const std::vector<vif::PodVif>& vifs) const {
  std::vector<WantedRow> rows;
  for (const vif::PodVif& planned : vifs) {
    const vif::VifBase& vif = vif::Common(planned.vif);
    const std::string on = SwitchOf(owner, vif);
    const bool is_own = on == "node/" + owner.name;
    if (owner.is_node() && is_own && vif.network.has_value() && vif.network->subnets.has_value()) {
      AddSwitch(on, free_networks_.contains(NetworkOf(vif)), rows);
      AddNodeRows(vif, on, rows);
    }
    rows.push_back(PortRow(owner, vif, on));
  }
  return rows;
}

}  // namespace kuryr::controller::ovn
