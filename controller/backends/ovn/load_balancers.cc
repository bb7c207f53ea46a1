#include "controller/backends/ovn/load_balancers.h"

#include <array>
#include <utility>

#include "controller/backends/ovn/northbound/schema.h"

namespace kuryr::controller::ovn {
namespace {

constexpr std::array kProtocols = {"tcp", "udp", "sctp"};

std::string SocketText(const IpAddress& address, uint16_t port) {
  const std::string text = address.ToString();
  return (address.family == IpFamily::kIpv6 ? "[" + text + "]" : text) + ":" + std::to_string(port);
}

std::string BackendsText(IpFamily family, const std::vector<ServiceEndpoint>& endpoints) {
  std::string text;
  for (const ServiceEndpoint& endpoint : endpoints) {
    if (endpoint.address.family != family || endpoint.port == 0) continue;
    text.append(text.empty() ? "" : ",").append(SocketText(endpoint.address, endpoint.port));
  }
  return text;
}

RowKey BalancerKey(const std::string& service, const char* protocol) {
  return {kLoadBalancer, service + "/" + protocol};
}

}  // namespace

RowKey ServiceGroup() { return {kLoadBalancerGroup, "services"}; }

WantedRow ServiceGroupRow(const std::string& cluster) {
  return {.key = ServiceGroup(), .values = {{"name", cluster + "/services"}}};
}

std::vector<RowKey> BalancerKeysOf(const std::string& service) {
  std::vector<RowKey> keys;
  keys.reserve(kProtocols.size());
  for (const char* protocol : kProtocols) keys.push_back(BalancerKey(service, protocol));
  return keys;
}

std::vector<WantedRow> BalancersOf(const std::string& cluster, const std::string& service,
                                   const Service& facts) {
  std::vector<WantedRow> rows;
  for (const char* protocol : kProtocols) {
    std::map<std::string, std::string> vips;
    for (const ServicePort& port : facts.ports) {
      if (port.protocol != protocol || port.port == 0) continue;
      for (const IpAddress& address : facts.cluster_ips)
        vips.emplace(SocketText(address, port.port), BackendsText(address.family, port.endpoints));
    }
    if (vips.empty()) continue;
    std::string name = cluster;
    name.append("/").append(service).append("/").append(protocol);
    WantedRow row = {
        .key = BalancerKey(service, protocol),
        .values = {{"name", std::move(name)}, {"protocol", protocol}},
        .maps = {{"options", {{"reject", "true"}, {"affinity_timeout", std::nullopt}}}},
        .whole_maps = {{"vips", std::move(vips)}},
        .places = {{ServiceGroup(), "load_balancer"}}};
    if (facts.affinity)
      row.maps["options"]["affinity_timeout"] = std::to_string(facts.affinity->count());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace kuryr::controller::ovn
