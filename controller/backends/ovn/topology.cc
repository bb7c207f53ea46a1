#include "controller/backends/ovn/topology.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.h"
#include "controller/backends/ovn/load_balancers.h"
#include "controller/backends/ovn/northbound/schema.h"
#include "controller/backends/ovn/policy_rows.h"
#include "controller/backends/pools/pool_vif.h"

namespace kuryr::controller::ovn {
namespace {

/// "MAC ADDRESS...", as addresses and port_security have it.
std::string AddressesText(const vif::VifBase& vif) {
  std::string text = vif.address.value_or(MacAddress()).ToString();
  for (const IpNetwork& address : vif::AddressesOf(vif)) text += " " + address.address.ToString();
  return text;
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

Topology::Topology(const OvnOptions& options)
    : cluster_(options.cluster), balances_services_(options.balances_services) {
  for (const pools::Pool& pool : options.pools) {
    if (!pool.from_node) shared_pools_.emplace(pools::NetworkIdOf(pool.name), pool.name);
  }
}

WantedRow Topology::SwitchRow(const std::string& name) const {
  WantedRow row = {.key = {kSwitch, name}, .values = {{"name", cluster_ + "/" + name}}};
  if (balances_services_) row.links = {{"load_balancer_group", ServiceGroup()}};
  return row;
}

WantedRow Topology::RouterRow(const std::string& uid) const {
  WantedRow row = {.key = {kRouter, "router"}, .values = {{"name", cluster_}}};
  if (!uid.empty()) row.maps["external_ids"][kClusterUid] = uid;
  return row;
}

std::vector<WantedRow> Topology::SharedRows() const {
  std::vector<WantedRow> rows = {RouterRow("")};
  if (balances_services_) rows.push_back(ServiceGroupRow(cluster_));
  for (const RowKey& key : SharedSwitches()) rows.push_back(SwitchRow(key.name));
  return rows;
}

std::vector<RowKey> Topology::SharedSwitches() const {
  std::vector<RowKey> keys;
  keys.reserve(shared_pools_.size());
  for (const auto& [network, pool] : shared_pools_) keys.push_back({kSwitch, "pool/" + pool});
  return keys;
}

std::string Topology::SwitchOf(const Owner& owner, const vif::VifBase& vif) const {
  const auto pool = vif.network.has_value() ? shared_pools_.find(vif.network->id.value_or(""))
                                            : shared_pools_.end();
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
  // A node sends what it routes and translates, from any address.
  row.sets["port_security"] = owner.is_node() ? std::set<std::string>{} : row.sets["addresses"];
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
      rows.push_back(SwitchRow(on));
      AddNodeRows(vif, on, rows);
    }
    rows.push_back(PortRow(owner, vif, on));
  }
  return rows;
}

}  // namespace kuryr::controller::ovn
