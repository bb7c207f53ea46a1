#include "controller/backends/ovn/load_balancers.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "controller/backends/ovn/northbound/schema.h"
#include "controller/backends/ovn/topology.h"

namespace kuryr::controller::ovn {
namespace {

constexpr std::array kProtocols = {"tcp", "udp", "sctp"};

using Vips = std::map<std::string, std::string>;

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

Vips VipsOf(const Service& facts, const std::string& protocol) {
  Vips vips;
  for (const ServicePort& port : facts.ports) {
    if (port.protocol != protocol || port.port == 0) continue;
    for (const IpAddress& address : facts.cluster_ips) {
      std::string backends = BackendsText(address.family, port.endpoints);
      if (facts.local && backends.empty()) continue;
      vips.emplace(SocketText(address, port.port), std::move(backends));
    }
  }
  return vips;
}

/// The Service where nodes share a switch.
Service SharedPartOf(const Service& facts) {
  Service part = facts;
  part.local = false;
  for (ServicePort& port : part.ports) {
    if (port.endpoints.size() > ServicePort::kMostEndpoints)
      port.endpoints.resize(ServicePort::kMostEndpoints);
  }
  return part;
}

/// By node: the Service with that node's endpoints alone.
std::map<std::string, Service> PartsOf(const Service& facts) {
  std::map<std::string, Service> parts;
  for (const ServicePort& port : facts.ports) {
    std::map<std::string, std::vector<ServiceEndpoint>> endpoints;
    for (const ServiceEndpoint& endpoint : port.endpoints) {
      if (!endpoint.node.empty()) endpoints[endpoint.node].push_back(endpoint);
    }
    for (auto& [node, own] : endpoints) {
      Service& part = parts[node];
      part.cluster_ips = facts.cluster_ips;
      part.affinity = facts.affinity;
      part.local = true;
      part.ports.push_back(
          {.protocol = port.protocol, .port = port.port, .endpoints = std::move(own)});
    }
  }
  return parts;
}

using Endpoints = std::vector<ServiceEndpoint>;

void AppendOf(IpFamily family, const Endpoints& from, Endpoints& to) {
  std::copy_if(from.begin(), from.end(), std::back_inserter(to),
               [&](const ServiceEndpoint& each) { return each.address.family == family; });
}

/// What clients of the node, or else of the zone, reach by the port.
Endpoints PreferredOf(const ServicePort& port, const std::string& node, const std::string& zone) {
  static const Endpoints kNone;
  const auto at = [](const EndpointsByClient& by, const std::string& client) -> const Endpoints& {
    const auto found = by.find(client);
    return found == by.end() ? kNone : found->second;
  };
  Endpoints preferred;
  for (const IpFamily family : {IpFamily::kIpv4, IpFamily::kIpv6}) {
    const size_t before = preferred.size();
    for (const Endpoints* from :
         {&at(port.of_node, node), &at(port.of_zone, zone), &port.endpoints}) {
      if (preferred.size() == before) AppendOf(family, *from, preferred);
    }
  }
  return preferred;
}

/// The Service for the clients of a node or a zone.
Service PartFor(const Service& facts, const std::string& node, const std::string& zone) {
  Service part = facts;
  for (ServicePort& port : part.ports) port.endpoints = PreferredOf(port, node, zone);
  return part;
}

/// The nodes or zones whose clients prefer some endpoints.
std::set<std::string> ClientsIn(const Service& facts, EndpointsByClient ServicePort::* preferred) {
  std::set<std::string> clients;
  for (const ServicePort& port : facts.ports) {
    for (const auto& [client, endpoints] : port.*preferred) clients.insert(client);
  }
  return clients;
}

std::string DropPrefix(const std::string& service) { return "service/" + service + "/"; }

WantedRow DropRow(const std::string& service, const IpAddress& address) {
  const std::string text = address.ToString();
  return {.key = {kStaticRoute, DropPrefix(service) + text},
          .values = {{"ip_prefix", text}, {"nexthop", "discard"}, {"policy", "dst-ip"}},
          .places = {{{kRouter, "router"}, "static_routes"}}};
}

Place PlaceOn(RowKey holder) { return {std::move(holder), "load_balancer"}; }

}  // namespace

RowKey ServiceGroup() { return {kLoadBalancerGroup, "services"}; }

WantedRow ServiceGroupRow(const std::string& cluster) {
  return {.key = ServiceGroup(), .values = {{"name", cluster + "/services"}}};
}

LoadBalancers::LoadBalancers(const OvnOptions& options, const std::vector<RowKey>& shared)
    : cluster_(options.cluster), hashes_clients_(options.is_userspace) {
  shared_.reserve(shared.size());
  for (const RowKey& key : shared) shared_.push_back(PlaceOn(key));
}

std::vector<RowKey> LoadBalancers::PrefixesOf(const std::string& service) {
  return {{kLoadBalancer, service + "/"}, {kStaticRoute, DropPrefix(service)}};
}

/// UDP has no end that a client would notice, so OVN forgets what leads to an endpoint that is
/// gone. TCP's connections are left to their ends, as kube-proxy does.
std::map<std::string, std::optional<std::string>> LoadBalancers::OptionsOf(
    const Service& facts, std::string_view protocol) const {
  std::map<std::string, std::optional<std::string>> options = {
      {"reject", "true"}, {"affinity_timeout", std::nullopt}, {"ct_flush", std::nullopt}};
  if (protocol == "udp") options["ct_flush"] = "true";
  if (facts.affinity && !hashes_clients_)
    options["affinity_timeout"] = std::to_string(facts.affinity->count());
  return options;
}

/// At its switch, a pod has one MAC for both families.
std::set<std::string> LoadBalancers::SelectionOf(const Service& facts) const {
  if (facts.affinity && hashes_clients_) return {"eth_src"};
  return {};
}

void LoadBalancers::Append(const std::string& service, const std::string& suffix,
                           const Service& facts, const std::vector<Place>& places,
                           std::vector<WantedRow>& rows) const {
  for (const char* protocol : kProtocols) {
    Vips vips = VipsOf(facts, protocol);
    if (vips.empty()) continue;
    std::string name = service;
    name.append("/").append(protocol).append(suffix);
    rows.push_back({.key = {kLoadBalancer, name},
                    .values = {{"name", cluster_ + "/" + name}, {"protocol", protocol}},
                    .maps = {{"options", OptionsOf(facts, protocol)}},
                    .whole_maps = {{"vips", std::move(vips)}},
                    .sets = {{"selection_fields", SelectionOf(facts)}},
                    .places = places});
  }
}

/// The switches of a zone have one group. Where some of them have a load balancer of their own, the
/// others have theirs one by one.
void LoadBalancers::AppendPreferring(const std::string& service, const Service& facts,
                                     const Zones& zones, std::vector<WantedRow>& rows) const {
  std::set<RowKey> own;
  for (const std::string& node : ClientsIn(facts, &ServicePort::of_node)) {
    if (!zones.Has(node)) continue;
    own.insert(NodeSwitch(node));
    Append(service, "/" + node, PartFor(facts, node, zones.ZoneOf(node)),
           {PlaceOn(NodeSwitch(node))}, rows);
  }
  const std::set<std::string> preferring = ClientsIn(facts, &ServicePort::of_zone);
  std::vector<Place> rest;
  for (const auto& [zone, switches] : zones.switches()) {
    std::vector<Place> places;
    if (own.empty()) places.push_back(PlaceOn(ZoneGroup(zone)));
    for (const RowKey& each : switches) {
      if (!own.empty() && !own.contains(each)) places.push_back(PlaceOn(each));
    }
    if (!preferring.contains(zone)) {
      std::move(places.begin(), places.end(), std::back_inserter(rest));
    } else if (!places.empty()) {
      Append(service, "/zone/" + zone, PartFor(facts, "", zone), places, rows);
    }
  }
  if (!rest.empty()) Append(service, "", facts, rest, rows);
}

std::vector<WantedRow> LoadBalancers::RowsOf(const std::string& service, const Service& facts,
                                             const Zones& zones) const {
  std::vector<WantedRow> rows;
  if (!facts.local) {
    if (HasPreferences(facts)) {
      AppendPreferring(service, facts, zones, rows);
    } else {
      Append(service, "", facts, {PlaceOn(ServiceGroup())}, rows);
    }
    return rows;
  }
  if (!shared_.empty()) Append(service, "", SharedPartOf(facts), shared_, rows);
  for (const auto& [node, part] : PartsOf(facts))
    Append(service, "/" + node, part, {PlaceOn({kSwitch, "node/" + node})}, rows);
  for (const IpAddress& address : facts.cluster_ips) rows.push_back(DropRow(service, address));
  return rows;
}

}  // namespace kuryr::controller::ovn
